//! Whether `dyno audit` accuses honest outputs, and which planted faults it finds: real programs are run here with odd options, and a
//! digit, a sign, two numbers of a line or a row of what they print is changed.

use super::bench::{Place, list, share};
use crate::Outcome;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a tool is run: a shell's line with its options in place of `{o}`, and what it writes. Each of a list of options is tried with each of
/// the others.
struct Recipe {
    tool: &'static str,
    ending: &'static str,
    line: &'static str,
    options: &'static [&'static [&'static str]],
}

/// Where wrk finds a server.
const PORT: u16 = 18_973;

/// What is installed or built once; what fails leaves its recipes without output.
const SETUP: &[&str] = &[
    "npm install --silent hdr-histogram-js@3",
    "pip install -q --target py hdrhistogram",
    "g++ -O1 gb.cc -lbenchmark -lpthread -o gb",
    "cargo build -q --manifest-path crit/Cargo.toml --target-dir crit/target --benches",
    "cp crit/target/debug/deps/b-* crit/b; rm -f crit/*.d",
];

/// Programs that use a library, by their files.
const PROGRAMS: &[(&str, &str)] = &[
    ("h.js", include_str!("audit/h.js")),
    ("h.py", include_str!("audit/h.py")),
    ("gb.cc", include_str!("audit/gb.cc")),
    ("crit/Cargo.toml", CRITERION),
    ("crit/benches/b.rs", include_str!("audit/criterion.txt")),
];

const CRITERION: &str = "[package]\nname = \"b\"\nedition = \"2021\"\n\n[workspace]\n\n[lib]\npath = \"benches/b.rs\"\n\n[dev-dependencies]\n\
    criterion = { version = \"0.5\", default-features = false }\n\n[[bench]]\nname = \"b\"\nharness = false\n";

const fn recipe(
    tool: &'static str,
    ending: &'static str,
    line: &'static str,
    options: &'static [&'static [&'static str]],
) -> Recipe {
    Recipe {
        tool,
        ending,
        line,
        options,
    }
}

#[rustfmt::skip]
const RECIPES: &[Recipe] = &[
    recipe("wrk", "txt", "wrk {o} http://127.0.0.1:18973/",
        &[&["-t1 -c1", "-t2 -c4", "-t1 -c10", "-t4 -c50"], &["", "--latency"], &["-d1s", "-d1s --timeout 1s -H Connection:close"]]),
    recipe("fio", "json", "fio --name=j --directory=. --size=1M --ioengine=psync --runtime=1 --time_based --output-format=json {o}",
        &[&["--rw=read", "--rw=randrw", "--rw=write --fsync=8"], &["--bs=4k", "--bs=64k", "--bsrange=1k-16k"],
            &["", "--numjobs=2 --group_reporting", "--output-format=json+", "--ramp_time=0.3"]]),
    recipe("fio", "json", "fio --name=j --directory=. --size=1M --runtime=1 --time_based --output-format=json {o}",
        &[&["--rw=read --bs=4k --rate_iops=200", "--rw=write --bs=4k --disable_lat=1", "--rw=write --bs=4k --disable_clat=1",
            "--rw=write --bs=4k --gtod_reduce=1", "--rw=rw --bs=4k --unified_rw_reporting=1", "--rw=rw --bs=4k --unified_rw_reporting=both",
            "--rw=read --bs=4k --iodepth=4 --ioengine=libaio", "--rw=randrw --bs=4k,8k --ioengine=mmap", "--rw=randread --bs=512 --thinktime=200",
            "--rw=read --bs=4k --time_based=0", "--rw=trimwrite --bs=4k", "--rw=write --bs=4k --lat_percentiles=1"]]),
    recipe("iperf3", "json", "iperf3 -s -p 15991 -1 >/dev/null & sleep 0.3; iperf3 -c 127.0.0.1 -p 15991 -J {o}; kill $! 2>/dev/null",
        &[&["-t 1", "-n 1M", "-t 1 -O 1", "-t 1 -l 64"], &["", "-R", "--bidir"], &["", "-P 2"]]),
    recipe("iperf3", "json", "iperf3 -s -p 15991 -1 >/dev/null & sleep 0.3; iperf3 -c 127.0.0.1 -p 15991 -J -t 1 -u {o}; kill $! 2>/dev/null",
        &[&["-b 20M", "-b 0", "-b 10M -l 500", "-b 2G -l 8000 -O 1"], &["", "-R", "--bidir"], &["", "-P 3"]]),
    recipe("sockperf", "txt", "sockperf server -i 127.0.0.1 -p 15911 >/dev/null 2>&1 & sleep 0.4; sockperf {o} -i 127.0.0.1 -p 15911 -t 1; kill $!",
        &[&["ping-pong -m 14", "ping-pong -m 1000 --full-rtt", "ping-pong -m 64 --pps 100", "under-load -m 64 --mps 1000",
            "under-load -m 64 --mps 5000 --reply-every 5", "under-load -m 100 --mps max", "throughput -m 14", "throughput -m 200 --mps 1000"]]),
    recipe("sockperf", "txt", "sockperf server --tcp -i 127.0.0.1 -p 15912 >/dev/null 2>&1 & sleep 0.4; sockperf {o} --tcp -i 127.0.0.1 -p 15912 -t 1; kill $!",
        &[&["ping-pong -m 14", "ping-pong -m 64 --full-rtt --pps 200", "under-load -m 64 --mps 1000", "throughput -m 1000"]]),
    recipe("cyclictest", "txt", "cyclictest -l 150 {o}",
        &[&["-t1 -i1000", "-t2 -i500", "-t4 -i2000 -N", "-t3 -i300 -p 50", "-t1 -i20 -N"], &["-q", "-v", "-q -h 100", "-q -H 5000"]]),
    recipe("cyclictest", "json", "cyclictest -l 150 -q {o} --json=j >/dev/null; cat j", &[&["-t1 -i1000", "-t2 -i500 -N", "-t3 -i700"], &["", "-h 100", "-h 5000"]]),
    recipe("pmqtest", "json", "pmqtest -q -D 1 --json=j {o} >/dev/null; cat j", &[&["", "-i 200", "-t 2"]]),
    recipe("ptsematest", "json", "ptsematest -q -D 1 --json=j {o} >/dev/null; cat j", &[&["", "-i 200", "-t 2"]]),
    recipe("svsematest", "json", "svsematest -q -D 1 --json=j {o} >/dev/null; cat j", &[&["", "-i 200", "-t 2"]]),
    recipe("sigwaittest", "json", "sigwaittest -q -D 1 --json=j {o} >/dev/null; cat j", &[&["", "-i 200", "-t 2"]]),
    recipe("signaltest", "json", "signaltest -q -D 1 --json=j {o} >/dev/null; cat j", &[&["", "-t 4"]]),
    recipe("signaltest", "txt", "signaltest -q -D 1 {o}", &[&["", "-t 4"]]),
    recipe("ddsperf", "txt", "ddsperf -D 4 sub & ddsperf -D 3 {o} >/dev/null; wait",
        &[&["pub 1000Hz size 100", "pub 500Hz size 1000 10%", "pub size 64", "pub size 100 burst 10 200Hz"]]),
    recipe("ddsperf", "txt", "ddsperf -D 4 pong >/dev/null & ddsperf -D 3 {o}; wait", &[&["ping", "ping size 1000", "ping 100Hz"]]),
    recipe("node", "hgrm", "node h.js hgrm {o}", &[&["1", "2", "3", "4", "5", "6", "7"]]),
    recipe("node", "hlog", "node h.js hlog {o}", &[&["1", "2", "3", "4", "5", "6", "7"]]),
    recipe("node", "csv", "node h.js csv {o}", &[&["1", "2", "3"]]),
    recipe("python3", "hgrm", "PYTHONPATH=py python3 h.py hgrm {o}", &[&["1", "2", "3", "4", "5", "6"]]),
    recipe("python3", "hlog", "PYTHONPATH=py python3 h.py hlog {o}", &[&["1", "2", "3", "4", "5", "6"]]),
    recipe("./gb", "txt", "./gb --benchmark_min_time=0.01 {o}", &[&["", "--benchmark_counters_tabular=true"], &["", "--benchmark_repetitions=3",
        "--benchmark_repetitions=5 --benchmark_report_aggregates_only=true"]]),
    recipe("./gb", "json", "./gb --benchmark_min_time=0.01 --benchmark_format=json {o}", &[&["", "--benchmark_time_unit=us"], &["",
        "--benchmark_repetitions=3", "--benchmark_repetitions=2 --benchmark_enable_random_interleaving=true"]]),
    recipe("crit/b", "txt", "crit/b --bench --warm-up-time 0.1 --measurement-time 0.2 --noplot {o}", &[&["--sample-size 10", "--sample-size 40"], &["", "--confidence-level 0.8"]]),
    recipe("crit/b", "json", "crit/b --bench --warm-up-time 0.1 --measurement-time 0.2 --noplot {o} >/dev/null; cat $(find . -path '*/new/estimates.json' | head -1)",
        &[&["--sample-size 10", "--sample-size 40"]]),
];

/// Each of these options with each of the others.
fn combined(options: &[&[&str]]) -> Vec<String> {
    let mut all = vec![String::new()];
    for next in options {
        let with = |before: String| next.iter().map(move |o| format!("{before} {o}"));
        all = all.into_iter().flat_map(with).collect();
    }
    all
}

/// Writes and builds the programs that use a library.
fn prepare(place: &Place) -> Outcome {
    for (name, text) in PROGRAMS {
        let path = place.dir.join(name);
        let folder = path.parent().unwrap_or(&place.dir);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        written.map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    for line in SETUP {
        let mut command = Command::new("timeout");
        command
            .args(["600", "sh", "-c", line])
            .current_dir(&place.dir);
        let done = command.status().is_ok_and(|status| status.success());
        if !done {
            println!("not prepared: {line}");
        }
    }
    Ok(())
}

const KINDS: [&str; 4] = ["digit", "sign", "swap", "row"];

/// Runs everything, and plants `faults` faults of each kind in each output.
#[expect(
    clippy::too_many_lines,
    reason = "the protocol of the study, in its order"
)]
pub(super) fn study(faults: u32) -> Outcome {
    let place = Place::new("audit")?;
    let dyno = super::bench::program()?;
    serve()?;
    prepare(&place)?;
    let (mut honest, mut refused, mut accused) = (Vec::new(), 0, 0);
    let all = RECIPES.iter().flat_map(|recipe| {
        let options = combined(recipe.options).into_iter();
        options.map(move |options| (recipe, options))
    });
    for (i, (recipe, options)) in all.enumerate() {
        let Some(file) = output(&place, recipe, &options, i)? else {
            continue;
        };
        match audit(&dyno, &file)? {
            Err(reason) => {
                refused += 1;
                println!("refused: {} {options}: {reason}", recipe.tool);
            }
            Ok(audit) => {
                let worst = ["impossible", "inconsistent"];
                let wrong = list(&audit, "outcomes").iter();
                for o in wrong.filter(|o| worst.iter().any(|v| o["verdict"] == *v)) {
                    accused += 1;
                    println!(
                        "accused: {} {options}: {} {}",
                        recipe.tool, o["check"], o["says"]
                    );
                }
                honest.push((file, audit));
            }
        }
    }
    println!(
        "{} outputs read, {refused} refused, {accused} accusations",
        honest.len()
    );
    let mut random = 41u64;
    let mut next = move |below: usize| {
        // xorshift64, Marsaglia 2003.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below.max(1) as u64) as usize
    };
    for kind in KINDS {
        let (mut all, mut found) = (0, 0);
        let mut by: BTreeMap<String, usize> = BTreeMap::new();
        for (file, before) in &honest {
            let known = objections(before);
            for _ in 0..faults {
                let figures = list(before, "figures");
                if figures.is_empty() {
                    continue;
                }
                let figure = &figures[next(figures.len())];
                let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
                let Some(planted) = plant(&text, figure, kind, &mut next) else {
                    continue;
                };
                let path = place.dir.join("planted");
                std::fs::write(&path, planted).map_err(|e| e.to_string())?;
                all += 1;
                let fresh: BTreeSet<String> = match audit(&dyno, &path)? {
                    Err(_) => BTreeSet::from(["refused".to_owned()]),
                    Ok(after) => {
                        let fresh = objections(&after);
                        fresh
                            .difference(&known)
                            .map(|(check, _)| check.clone())
                            .collect()
                    }
                };
                found += usize::from(!fresh.is_empty());
                for check in fresh {
                    *by.entry(check).or_default() += 1;
                }
            }
        }
        let by: Vec<String> = by.iter().map(|(check, n)| format!("{check} {n}")).collect();
        println!("{kind}: found {}; {}", share(found, all), by.join(", "));
    }
    match accused {
        0 => Ok(()),
        _ => Err(format!("{accused} accusations of honest outputs")),
    }
}

/// A server for wrk, as long as the study runs.
fn serve() -> Outcome {
    let listener = TcpListener::bind(("127.0.0.1", PORT));
    let listener = listener.map_err(|e| format!("cannot listen on port {PORT}: {e}"))?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let Ok(mut out) = stream.try_clone() else {
                    return;
                };
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
                    if line.is_empty() && out.write_all(answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    Ok(())
}

/// What a tool prints with these options; `None` where it is not installed or prints nothing.
fn output(
    place: &Place,
    recipe: &Recipe,
    options: &str,
    number: usize,
) -> Result<Option<PathBuf>, String> {
    let line = recipe.line.replace("{o}", options);
    let line = format!("command -v {} >/dev/null || exit 0; {line}", recipe.tool);
    let mut command = Command::new("timeout");
    command.args(["20", "sh", "-c", &line]);
    command.current_dir(&place.dir).stderr(Stdio::null());
    let output = command
        .output()
        .map_err(|e| format!("cannot start timeout: {e}"))?;
    if output.stdout.is_empty() {
        println!("nothing: {} {options}", recipe.tool);
        return Ok(None);
    }
    let file = place.dir.join(format!(
        "{}-{number}.{}",
        recipe.tool.replace(['.', '/'], ""),
        recipe.ending
    ));
    std::fs::write(&file, output.stdout).map_err(|e| e.to_string())?;
    Ok(Some(file))
}

/// The audit of a file, or why it is refused.
fn audit(dyno: &Path, file: &Path) -> Result<Result<Value, String>, String> {
    let mut command = Command::new(dyno);
    command.args(["audit", "--format", "json"]).arg(file);
    let output = command
        .output()
        .map_err(|e| format!("cannot start dyno: {e}"))?;
    Ok(match serde_json::from_slice::<Value>(&output.stdout) {
        Ok(mut all) => Ok(all["audits"][0].take()),
        Err(_) => Err(String::from_utf8_lossy(&output.stderr)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")),
    })
}

/// Checks that object, with their figures.
fn objections(audit: &Value) -> BTreeSet<(String, String)> {
    let objecting = ["impossible", "inconsistent", "not-what-it-is-called"];
    let all = list(audit, "outcomes").iter();
    let all = all.filter(|o| objecting.iter().any(|v| o["verdict"] == *v));
    all.map(|o| {
        (
            o["check"].as_str().unwrap_or_default().to_owned(),
            o["figures"].to_string(),
        )
    })
    .collect()
}

/// The output with a fault of this kind at this figure, where it has such a place.
fn plant(
    text: &str,
    figure: &Value,
    kind: &str,
    next: &mut impl FnMut(usize) -> usize,
) -> Option<String> {
    let section = figure["section"].as_str()?;
    let planted = match section.strip_prefix("line ") {
        Some(line) => {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let at = line.parse::<usize>().ok()?.checked_sub(1)?;
            match kind {
                "row" => drop(lines.remove(at)),
                _ => lines[at] = in_line(&lines[at], figure["printed"].as_str()?, kind, next)?,
            }
            lines.join("\n") + "\n"
        }
        None => {
            let mut root: Value = serde_json::from_str(text).ok()?;
            let pointer = format!(
                "/{}",
                section.replace(['.', '['], "/").replace([']', '"'], "")
            );
            let (parent, key) = pointer.rsplit_once('/')?;
            let members = root.pointer_mut(parent)?.as_object_mut()?;
            let number = members.get(key)?.as_number()?.clone();
            let changed = match kind {
                "digit" => serde_json::from_str(&other_digit(&number.to_string(), next)?).ok()?,
                "sign" => Value::from(-number.as_f64()?),
                _ => {
                    let is_other = |(k, v): &(&String, &Value)| {
                        *k != key && v.is_number() && v.as_number() != Some(&number)
                    };
                    let others: Vec<String> = members
                        .iter()
                        .filter(is_other)
                        .map(|(k, _)| k.clone())
                        .collect();
                    let other = others.get(next(others.len()))?;
                    members.insert(other.clone(), Value::from(number.clone()))?
                }
            };
            match kind {
                "row" => drop(members.remove(key)),
                _ => drop(members.insert(key.to_owned(), changed)),
            }
            root.to_string()
        }
    };
    (planted != text).then_some(planted)
}

/// A line with another number in place of this one.
fn in_line(
    line: &str,
    printed: &str,
    kind: &str,
    next: &mut impl FnMut(usize) -> usize,
) -> Option<String> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut numbers: Vec<(usize, &str)> = Vec::new();
    for part in line
        .split(|c| !is_number(c))
        .filter(|p| p.contains(|c: char| c.is_ascii_digit()))
    {
        numbers.push((part.as_ptr() as usize - line.as_ptr() as usize, part));
    }
    let of = |text: &str| text.trim_start_matches('0').to_owned();
    let (at, own) = *numbers.iter().find(|(_, n)| of(n) == of(printed))?;
    let put = |at: usize, old: &str, new: &str| {
        format!("{}{new}{}", &line[..at], &line[at + old.len()..])
    };
    match kind {
        "digit" => Some(put(at, own, &other_digit(own, next)?)),
        "sign" => Some(put(at, own, &format!("-{own}"))),
        _ => {
            let others: Vec<_> = numbers.iter().filter(|(_, n)| *n != own).collect();
            let (there, other) = **others.get(next(others.len()))?;
            let ((first, a), (second, b)) = if at < there {
                ((at, own), (there, other))
            } else {
                ((there, other), (at, own))
            };
            let between = &line[first + a.len()..second];
            Some(format!(
                "{}{b}{between}{a}{}",
                &line[..first],
                &line[second + b.len()..]
            ))
        }
    }
}

/// With another first digit.
fn other_digit(number: &str, next: &mut impl FnMut(usize) -> usize) -> Option<String> {
    let at = number.find(|c: char| ('1'..='9').contains(&c))?;
    let old = number[at..].chars().next()?.to_digit(10)?;
    let new = (old + 2 + next(4) as u32 - 1) % 9 + 1;
    Some(format!("{}{new}{}", &number[..at], &number[at + 1..]))
}
