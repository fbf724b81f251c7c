"""Asks the current ClickHouse, as chDB embeds it, what stands on the standard input: {"setup": [sql], "ask": [[name, sql]]}."""
import json
import sys
import tempfile

from chdb import session

work = json.load(sys.stdin)
with tempfile.TemporaryDirectory() as folder:
    db = session.Session(folder)
    for sql in work["setup"]:
        db.query(sql)
    answers = {"version": db.query("SELECT version()", "TSV").bytes().decode().strip()}
    for name, sql in work["ask"]:
        try:
            answers[name] = db.query(sql, "TSV").bytes().decode()
        except Exception as error:  # the test tells which question it was
            answers[name] = "error: " + str(error)[:500]
    json.dump(answers, sys.stdout)
