//! Logs of L4Re's ipcbench. What is printed for one IPC is a whole-number division of the total, so it is cut and not rounded,
//! and an IPC is half of a call and its answer (`src/measure.h` and `src/ipc_common.c` of ipcbench).

use super::error::Imported;
use super::lines::Lines;
use super::number::Number;
use super::out::{Out, Spot, ns, unit};
use crate::Statements;
use crate::statement::{Dimension, Loop, Of, Quantity, Statistic, Trip, Unit};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let spot = Spot::Line(input.number(), &line);
        // A tag of the console stands before it.
        let Some((tag, rest)) = line.split_once("CPU ") else {
            input.own(&line)?;
            continue;
        };
        let Some((cpu, rest)) = rest.trim_start().split_once(" done ") else {
            continue;
        };
        let (cpu, total, each) = row(cpu, rest).map_err(|e| input.error(e))?;
        let program = tag.trim().trim_end_matches('|').trim();
        let prefix = if program.is_empty() {
            String::new()
        } else {
            format!("{program}/")
        };
        let name = format!("{prefix}CPU {cpu}/{}/{}", each.op, each.unit_name);
        let (quantity, unit) = measure(each.unit_name);
        let mut data = out
            .data(&name, quantity, unit)
            .of(Of::Samples, Some(total.rounds))
            .with("cpu", cpu.to_string())
            .with("operation", each.op);
        if !program.is_empty() {
            data = data.with("program", program);
        }
        data.method.load = Some(Loop::Closed);
        data.method.clients = Some(1);
        data.method.clocks = Some(1);
        data.method.trip = (each.op == "IPC").then_some(Trip::Half);
        out.put(&data, Statistic::Mean, each.number.cut(), spot)?;
        out.put(&data, Statistic::Sum, total.number.exact(), spot)?;
    }
    Ok(out.done())
}

struct Total {
    rounds: u64,
    number: Number,
}

struct Each<'a> {
    number: Number,
    unit_name: &'a str,
    op: &'a str,
}

/// `0`, `20000 IPCs in 4948611 cpu-cycles, 247 cpu-cycles/IPC`.
fn row<'a>(cpu: &str, rest: &'a str) -> Result<(u64, Total, Each<'a>), String> {
    let cpu = Number::count(cpu.trim())?;
    let cut = || "the line is shorter than ipcbench prints it".to_owned();
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [rounds, _, "in", total, total_unit, each, per, ..] = words[..] else {
        return Err(cut());
    };
    let (unit_name, op) = per.split_once('/').ok_or_else(cut)?;
    if total_unit.trim_end_matches(',') != unit_name || !["IPC", "syscall"].contains(&op) {
        return Err(cut());
    }
    let total = Total {
        rounds: Number::count(rounds)?,
        number: Number::parse(total)?,
    };
    let number = Number::parse(each)?;
    Ok((
        cpu,
        total,
        Each {
            number,
            unit_name,
            op,
        },
    ))
}

/// What its names of counters are.
fn measure(name: &str) -> (Quantity, Unit) {
    match name {
        "ns" => (Quantity::Latency, ns()),
        "cpu-cycles" | "clk-units" | "CPU_CYCLES" => {
            (Quantity::Cycles, unit(name, Dimension::Cycles, 1.0))
        }
        "insnret-units" | "INST_RETIRED" => {
            (Quantity::Instructions, unit(name, Dimension::One, 1.0))
        }
        // Ticks of a counter whose rate is not said.
        _ => (Quantity::Other, unit(name, Dimension::One, 1.0)),
    }
}
