#!/usr/bin/env python3
"""How often skills fired and passed in each of the last 12 whole weeks: the last four in a table, all in an SVG.

Usage: report.py FILE.svg. Every page is kept in FILE.state until all are there, so an interrupted run can be resumed.
"""
import json, os, pathlib, sys, urllib.error, urllib.request
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta, timezone
from html import escape

URL, KEY = os.environ["SKILLGRAPH_URL"], os.environ["SKILLGRAPH_KEY"]
QUERY = """query Days($since: Date!, $until: Date!, $after: String) {
  skills(first: 5, after: $after, orderBy: NAME) {
    pageInfo { endCursor hasNextPage }
    nodes { name dailyStats(since: $since, until: $until) { date sessions triggeredSessions graded passed } }
  }
}"""


def ask(variables):
    body = json.dumps({"query": QUERY, "variables": variables}).encode()
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{URL}/graphql", body, headers), timeout=30) as answer:
            answer = json.load(answer)
    except (urllib.error.URLError, ConnectionError) as problem:
        sys.exit(f"{problem}; run it again to go on from here")
    return answer["data"]["skills"] if "errors" not in answer else sys.exit(answer["errors"][0]["message"])


def read(file, since, until):
    """All skills with their days: what an interrupted run has of the same weeks, then page after page."""
    wanted = [URL, since, until]
    state = json.loads(file.read_text()) if file.exists() else {}
    if state.get("wanted") != wanted:
        state = {"wanted": wanted, "after": None, "skills": []}
    while True:
        page = ask({"since": since, "until": until, "after": state["after"]})
        state["skills"] += page["nodes"]
        state["after"] = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            file.unlink(missing_ok=True)
            return state["skills"]
        scratch = file.with_suffix(".new")
        scratch.write_text(json.dumps(state))
        scratch.replace(file)  # the old state or the new one, never half of it


def weekly(days, mondays):
    """The trigger and the pass rate of each week. Counts are added up: a mean of daily rates would favour quiet days."""
    sums = defaultdict(Counter)
    for day in days:
        when = date.fromisoformat(day.pop("date"))
        sums[when - timedelta(when.weekday())].update(day)
    share = lambda part, whole: part / whole if whole else None  # nothing to divide by is not 0%
    weeks = (sums[monday] for monday in mondays)
    return [(share(n["triggeredSessions"], n["sessions"]), share(n["passed"], n["graded"])) for n in weeks]


def plot(report):
    """A row for each skill with two lines from 0 to 100%."""
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="560" height="{50 * len(report) + 30}" font-family="sans-serif">'
    for bottom, (name, weeks) in enumerate(report.items(), 1):
        yield f'<text x="10" y="{50 * bottom - 15}">{escape(name)}</text><path d="M150 {50 * bottom}h396" stroke="#ccc"/>'
        for i, colour in enumerate(["#999", "#06c"]):
            points = (f"{150 + 36 * x},{50 * bottom - 40 * week[i]:.1f}" for x, week in enumerate(weeks) if week[i] is not None)
            yield f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>'
    yield f'<text x="150" y="{50 * len(report) + 20}">by week: how often it fired (grey) and passed (blue)</text>'
    yield "</svg>\n"


svg, today = pathlib.Path(sys.argv[1]), datetime.now(timezone.utc).date()
mondays = [today - timedelta(today.weekday() + 7 * ago) for ago in range(12, 0, -1)]
skills = read(svg.with_suffix(".state"), str(mondays[0]), str(mondays[-1] + timedelta(6)))
report = {skill["name"]: weekly(skill["dailyStats"], mondays) for skill in skills}
print("fired / passed   ", *mondays[-4:], sep="   ")
for name, weeks in report.items():
    print(f"{name:17}", *("".join("    -" if r is None else f"{r:5.0%}" for r in week) for week in weeks[-4:]), sep="   ")
svg.write_text("\n".join(plot(report)))
