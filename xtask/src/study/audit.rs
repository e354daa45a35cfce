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

/// How a tool is run: a shell's line with its options in place of `{o}`, and what it writes.
struct Recipe {
    tool: &'static str,
    ending: &'static str,
    line: &'static str,
    options: &'static [&'static str],
}

/// Where wrk finds a server.
const PORT: u16 = 18_973;

const RECIPES: &[Recipe] = &[
    Recipe {
        tool: "wrk",
        ending: "txt",
        line: "wrk {o} http://127.0.0.1:18973/",
        options: &[
            "-t1 -c1 -d1s",
            "-t2 -c4 -d1s --latency",
            "-t1 -c10 -d2s --latency",
            "-t4 -c50 -d1s",
            "-t2 -c2 -d1s --timeout 1s",
        ],
    },
    Recipe {
        tool: "fio",
        ending: "json",
        line: "fio --name=j --directory=. --size=1M --ioengine=psync --runtime=1 --time_based --output-format=json {o}",
        options: &[
            "--rw=read --bs=4k",
            "--rw=randrw --bs=4k",
            "--rw=write --bs=64k --fsync=4",
            "--rw=randwrite --bsrange=1k-16k",
            "--rw=read --bs=1M --numjobs=2",
            "--rw=randrw --bs=4k --numjobs=3 --group_reporting",
            "--rw=read --bs=4k --rate_iops=200",
            "--rw=write --bs=4k --disable_lat=1",
            "--rw=write --bs=4k --gtod_reduce=1",
            "--rw=read --bs=4k --ramp_time=0.3 --output-format=json+",
            "--rw=rw --bs=4k --unified_rw_reporting=1",
        ],
    },
    Recipe {
        tool: "iperf3",
        ending: "json",
        line: "iperf3 -s -p 15991 -1 >/dev/null & sleep 0.3; iperf3 -c 127.0.0.1 -p 15991 -J {o}; kill $! 2>/dev/null",
        options: &[
            "-t 1",
            "-t 1 -P 3 -R",
            "-t 1 -P 2 --bidir",
            "-t 1 -u -b 20M",
            "-t 1 -u -b 0",
            "-t 1 -u -R -b 50M",
            "-t 1 -u --bidir -b 30M",
            "-t 1 -u -P 3 -b 10M -l 500",
            "-t 2 -O 1 -u -b 20M",
            "-n 1M",
            "-t 1 -l 64",
        ],
    },
    Recipe {
        tool: "sockperf",
        ending: "txt",
        line: "sockperf server -i 127.0.0.1 -p 15911 >/dev/null 2>&1 & sleep 0.4; sockperf {o} -i 127.0.0.1 -p 15911 -t 1; kill $!",
        options: &[
            "ping-pong -m 14",
            "ping-pong -m 1000 --full-rtt",
            "under-load -m 64 --mps 1000",
            "under-load -m 64 --mps 5000 --reply-every 5",
            "throughput -m 14",
            "throughput -m 200 --mps 1000",
            "ping-pong -m 64 --pps 100",
        ],
    },
    Recipe {
        tool: "cyclictest",
        ending: "txt",
        line: "cyclictest -l 150 {o}",
        options: &[
            "-t1 -i1000 -q",
            "-t4 -i2000 -q",
            "-t1 -i1000 -N -q",
            "-t2 -i500 -v",
            "-t2 -i500 -q -h 100",
            "-t2 -i1000 -q -H 5000",
            "-t1 -i20 -N -q",
        ],
    },
    Recipe {
        tool: "pmqtest",
        ending: "json",
        line: "pmqtest -q -D 1 --json=j {o} >/dev/null; cat j",
        options: &["", "-i 200"],
    },
    Recipe {
        tool: "ptsematest",
        ending: "json",
        line: "ptsematest -q -D 1 --json=j {o} >/dev/null; cat j",
        options: &["", "-i 200"],
    },
    Recipe {
        tool: "ddsperf",
        ending: "txt",
        line: "ddsperf -D 4 sub & ddsperf -D 3 {o} >/dev/null; wait",
        options: &[
            "pub 1000Hz size 100",
            "pub 500Hz size 1000 10%",
            "pub size 64",
        ],
    },
    Recipe {
        tool: "ddsperf",
        ending: "txt",
        line: "ddsperf -D 4 pong >/dev/null & ddsperf -D 3 {o}; wait",
        options: &["ping", "ping size 1000"],
    },
];

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
    let (mut honest, mut refused, mut accused) = (Vec::new(), 0, 0);
    for (i, (recipe, options)) in RECIPES
        .iter()
        .flat_map(|recipe| recipe.options.iter().map(move |o| (recipe, *o)))
        .enumerate()
    {
        let Some(file) = output(&place, recipe, options, i)? else {
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
    let file = place
        .dir
        .join(format!("{}-{number}.{}", recipe.tool, recipe.ending));
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
