"""Nightly report of the switchback experiment: one task for each day of the experiment.

Exit codes: 0 and 3 are success (3 means that the report is written and marked INCOMPLETE), 1 and 75 are tried again,
all others fail at once. A BashOperator would retry them all.
"""

import logging
import subprocess
from datetime import datetime, timedelta, timezone

from airflow.decorators import dag, task
from airflow.exceptions import AirflowException, AirflowFailException
from airflow.timetables.interval import CronDataIntervalTimetable

CONFIG = "/etc/switchback/router-week.toml"
OUT = "/var/lib/switchback"

DONE = 0
INCOMPLETE = 3
RETRY = (1, 75)


@dag(
    # The run of a day starts after its end, at 00:00 UTC. In Airflow 3 a plain "@daily" has no data interval: its run
    # would be of the day that has just begun.
    schedule=CronDataIntervalTimetable("@daily", timezone="UTC"),
    start_date=datetime(2026, 11, 2, tzinfo=timezone.utc),  # first and last day of the experiment:
    end_date=datetime(2026, 11, 8, tzinfo=timezone.utc),  # other dates end with exit code 2
    catchup=True,
    max_active_runs=1,  # one output folder, one run
    default_args={"retries": 3, "retry_delay": timedelta(minutes=15)},
)
def switchback_nightly():
    @task
    def report(data_interval_start=None):
        day = data_interval_start.strftime("%Y-%m-%d")
        command = ["switchback", "run", "--config", CONFIG, "--out", OUT, "--date", day]
        code = subprocess.run(command, check=False).returncode
        if code == DONE:
            return
        if code == INCOMPLETE:
            logging.warning("report of %s is incomplete; run it again when the rest of the logs has arrived", day)
            return
        if code in RETRY:
            raise AirflowException(f"exit code {code}: to be tried again")
        raise AirflowFailException(f"exit code {code}: see the log above")

    report()


switchback_nightly()
