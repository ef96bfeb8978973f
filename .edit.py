from pathlib import Path
def sub(f, *pairs):
    p = Path(f); t = p.read_text()
    for a, b in pairs:
        assert a in t, (f, a)
        t = t.replace(a, b)
    p.write_text(t)
sub("src/parkf/workflow/why.py", ('''        "" if found.wall_s is None else f", {_duration(found.wall_s)} on {found.cores} cores at the last time"
''', '''        []
        if found.wall_s is None
        else [f"The last time, they took {_duration(found.wall_s)} on {found.cores} cores."]
'''), ('''    parts = [f"{found.run}{made}: {number} of {number + kept} products would be made{time}", ""]
''', '''    parts = [f"{found.run}{made}: {number} of {number + kept} products would be made", *time, ""]
'''))
sub("tests/workflow/test_why.py", ('''    first, _, *rest = in_words(found(again={"states": 2, "rows": 1}, wall_s=200.0)).splitlines()
    assert first.endswith("3 of 4 products would be made, about 3 min 20 s on 4 cores at the last time")
''', '''    first, time, _, *rest = in_words(found(again={"states": 2, "rows": 1}, wall_s=200.0)).splitlines()
    assert first.endswith("3 of 4 products would be made")
    assert time == "The last time, they took about 3 min 20 s on 4 cores."
'''), ('''are_named(tmp_path):
    source''', '''are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(why, "flat", dict)
    source'''))
sub("tests/bad_input/sets.py", ('''    Case("run", "page of none", command("report", "results/x", "x.html"), ("no such file",)),
''', ""))
sub("tests/cli/test_answers.py", ('assert own.pop("alignments.velo_shift").startswith("detector.alignment: data/geometry/alignment_velo_shift")\n', 'assert own.pop("alignments.velo_shift").startswith("detector.alignment: data/geometry/")\n'))
sub("tests/report/test_timing.py", ('"data/x.yaml": "2"}, **made, **(usual | {"peak_mb": 70.0})))', '"x.yaml": "2"}, **made, **(usual | {"peak_mb": 70.0})))'))
p = Path("docs/reference/bad_inputs.md"); t = p.read_text()
p.write_text("".join(l for l in t.splitlines(True) if not l.startswith("| run | page of none |")))
