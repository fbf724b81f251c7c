SELECT
    request_id, session_id, client_id, ts, model, provider, attempts, n_429, n_retries, ttft_ms, caller_ttft_ms, total_ms, failed_ms,
    input_tokens, cached_tokens, output_tokens, cost_usd, status, streamed, tool_call_ok
FROM requests
WHERE CAST(ts AS DATE) = DATE 'DAY'
ORDER BY ts
