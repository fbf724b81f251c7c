/* Writes the requests of one day as rows of LiteLLM's table LiteLLM_SpendLogs, one row for each attempt. */
WITH attempt_rows AS (
    -- requests with one attempt have no rows in attempts; 15 ms is the gateway's own overhead
    SELECT request_id, 1 AS attempt, provider, 15.0 AS start_ms, total_ms - 15.0 AS latency_ms, 200 AS http_status
    FROM requests
    WHERE attempts = 1 AND status = 'ok'
    UNION ALL
    SELECT request_id, attempt, provider, start_ms, latency_ms, http_status FROM attempts
),
tries AS (
    SELECT
        r.*,
        a.attempt,
        a.provider AS tried,
        a.http_status,
        a.attempt = r.attempts AS is_last,
        r.ts + to_microseconds(CAST(a.start_ms * 1000 AS BIGINT)) AS begins,
        r.ts + to_microseconds(CAST((a.start_ms + a.latency_ms) * 1000 AS BIGINT)) AS ends
    FROM requests r JOIN attempt_rows a USING (request_id)
),
answered AS (
    SELECT *, is_last AND output_tokens > 0 AND ttft_ms IS NOT NULL AS has_answer FROM tries
)
SELECT
    CASE WHEN is_last THEN 'chatcmpl-' ELSE 'call-' || attempt || '-' END || request_id AS request_id,
    'acompletion' AS call_type,
    CASE WHEN has_answer THEN cost_usd ELSE 0 END AS spend,
    CASE WHEN has_answer THEN input_tokens + output_tokens ELSE 0 END AS total_tokens,
    CASE WHEN has_answer THEN input_tokens ELSE 0 END AS prompt_tokens,
    CASE WHEN has_answer THEN output_tokens ELSE 0 END AS completion_tokens,
    strftime(begins, '%Y-%m-%d %H:%M:%S.%g') AS "startTime",
    strftime(ends, '%Y-%m-%d %H:%M:%S.%g') AS "endTime",
    strftime(
        CASE WHEN has_answer THEN begins + to_microseconds(CAST(ttft_ms * 1000 AS BIGINT)) ELSE ends END,
        '%Y-%m-%d %H:%M:%S.%g'
    ) AS "completionStartTime",
    'openai/' || model AS model,
    'dep-' || tried AS model_id,
    model AS model_group,
    'openai' AS custom_llm_provider,
    'https://api.' || replace(tried, '/', '-') || '.example/v1' AS api_base,
    json_object(
        'attempted_retries', attempt - 1,
        'usage_object', json_object('prompt_tokens_details', json_object('cached_tokens', CASE WHEN has_answer THEN cached_tokens END)),
        'error_information', CASE WHEN http_status <> 200 THEN json_object('error_code', CAST(http_status AS VARCHAR)) END,
        'litellm_overhead_time_ms', 15
    ) AS metadata,
    'False' AS cache_hit,
    session_id,
    CASE WHEN http_status = 200 AND status = 'ok' THEN 'success' ELSE 'failure' END AS status
FROM answered
WHERE CAST(ts AS DATE) = DATE 'DAY'
ORDER BY begins, request_id
