//! What linuxptp says of this host's clock. It is recorded, never trusted: a bound that holds does not
//! rest on what a clock says of itself.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The longest that linuxptp may take.
const PATIENCE: Duration = Duration::from_millis(300);

/// Port states, offset from the master and path delay in one line; `None` where `pmc` is not installed
/// or no `ptp4l` answers it in time.
pub(crate) fn state() -> Option<String> {
    // -b 0: only this host's own ptp4l, over its Unix socket (pmc(8)).
    let mut child = Command::new("pmc")
        .args(["-u", "-b", "0", "GET TIME_STATUS_NP"])
        .args(["GET CURRENT_DATA_SET", "GET PORT_DATA_SET"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let out = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut out) = out {
            // What was said until the end is what there is.
            let _ = out.read_to_string(&mut text);
        }
        text
    });
    let deadline = Instant::now() + PATIENCE;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
    line(&reader.join().ok()?)
}

/// The line from pmc's answer.
fn line(answer: &str) -> Option<String> {
    let values = |key: &str| {
        let mut found = Vec::new();
        for line in answer.lines() {
            let mut words = line.split_whitespace();
            if words.next() == Some(key)
                && let Some(value) = words.next()
            {
                found.push(value.to_owned());
            }
        }
        found
    };
    let states = values("portState");
    let offset = values("master_offset");
    if states.is_empty() && offset.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    if !states.is_empty() {
        parts.push(format!("port {}", states.join(", ")));
    }
    for (label, found) in [
        ("offset from the master", offset),
        ("mean path delay", values("meanPathDelay")),
    ] {
        parts.extend(found.first().map(|ns| format!("{label} {ns} ns")));
    }
    if values("gmPresent").first().is_some_and(|v| v == "false") {
        parts.push("no grandmaster".to_owned());
    }
    Some(parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As linuxptp 4 prints it.
    const ANSWER: &str = "sending: GET TIME_STATUS_NP\nsending: GET CURRENT_DATA_SET\n\
        sending: GET PORT_DATA_SET\n\
        \t525400.fffe.123456-0 seq 0 RESPONSE MANAGEMENT TIME_STATUS_NP\n\
        \t\tmaster_offset              -12\n\t\tingress_time               1700000000000000000\n\
        \t\tgmPresent                  true\n\t\tgmIdentity                 00aabb.fffe.ccddee\n\
        \t525400.fffe.123456-0 seq 1 RESPONSE MANAGEMENT CURRENT_DATA_SET\n\
        \t\tstepsRemoved     1\n\t\toffsetFromMaster -12.0\n\t\tmeanPathDelay    2345.0\n\
        \t525400.fffe.123456-1 seq 2 RESPONSE MANAGEMENT PORT_DATA_SET\n\
        \t\tportIdentity            525400.fffe.123456-1\n\t\tportState               SLAVE\n\
        \t\tpeerMeanPathDelay       0\n";

    #[test]
    fn state_offset_and_delay_are_one_line() {
        assert_eq!(
            line(ANSWER).unwrap(),
            "port SLAVE, offset from the master -12 ns, mean path delay 2345.0 ns"
        );
    }

    #[test]
    fn no_answer_is_no_state() {
        assert_eq!(line("sending: GET TIME_STATUS_NP\n"), None);
        assert_eq!(line(""), None);
    }
}
