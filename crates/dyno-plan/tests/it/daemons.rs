//! The daemons of stack files: what is read, what is refused, and what a missing one means.

use crate::common::{adapters, facts, refusal_of, request};
use dyno_model::daemon::{Ready, StopSignal};
use dyno_plan::{Catalog, missing_daemon, plan};
use std::collections::BTreeSet;

const HEAD: &str = "description = \"mine\"\nadapter = \"udp\"\nwaits = [\"block\"]\n";

const WHOLE: &str = r#"
install = "apt-get install broker"
[options]
rcvbuf = 4096
[[daemon]]
name = "Broker"
command = ["brokerd", "--config", "{scratch}/broker.json"]
ready = { connect = "unix:{scratch}/broker.sock" }
stop = "SIGINT"
exclusive = true
environment = { BROKER_NAME = "{session}" }
leaves = ["/tmp/broker.{group}"]
[daemon.files]
"broker.json" = '{ "size": {payload:8}, "buffer": {option.rcvbuf*2} }'
"#;

fn catalog(text: &str) -> Catalog {
    let mut catalog = Catalog::builtin();
    catalog.add_stack("mine", "stacks/mine.toml", format!("{HEAD}{text}"));
    catalog
}

fn refused(text: &str) -> String {
    let mut request = request("quick");
    request.stacks = Some(vec!["mine".into()]);
    refusal_of(plan(&catalog(text), &request, &adapters(), &facts()))
}

#[test]
fn every_key_of_a_daemon_is_read() {
    let stack = catalog(WHOLE).read_stack("mine", &adapters()).unwrap();
    assert_eq!(stack.install.as_deref(), Some("apt-get install broker"));
    let [daemon] = stack.daemons.as_slice() else {
        panic!("{:?}", stack.daemons);
    };
    assert_eq!(daemon.name, "Broker");
    assert_eq!(daemon.command[0], "brokerd");
    let ready = Ready::Connect("unix:{scratch}/broker.sock".into());
    assert_eq!(daemon.ready, ready);
    assert_eq!(daemon.stop, StopSignal::Int);
    assert!(daemon.exclusive);
    assert_eq!(daemon.environment["BROKER_NAME"], "{session}");
    assert_eq!(daemon.leaves, ["/tmp/broker.{group}"]);
    assert!(daemon.files["broker.json"].contains("{payload:8}"));
    assert_eq!(daemon.options["rcvbuf"], "4096");
}

#[test]
fn mistakes_are_refused_with_what_to_write() {
    let daemon = |lines: &str| {
        refused(&format!(
            "[[daemon]]\nname = \"d\"\ncommand = [\"d\"]\nready = {{ output = \"up\" }}\n{lines}\n"
        ))
    };
    for (refusal, wanted) in [
        (
            refused("[[daemon]]\nname = \"d\"\n"),
            "the daemon has no `command`",
        ),
        (
            refused("daemon = 3\n"),
            "begin each daemon with a line `[[daemon]]`",
        ),
        (daemon("stopp = \"SIGINT\""), "did you mean `stop`?"),
        (daemon("stop = \"SIGSTOP\""), "`stop` cannot be \"SIGSTOP\""),
        (daemon("leaves = [\"{scrach}\"]"), "did you mean `scratch`?"),
        (
            daemon("leaves = [\"{option.rcvbuf}\"]"),
            "set `rcvbuf` in [options]",
        ),
        (
            daemon("leaves = [\"{session*2}\"]"),
            "which is not a whole number",
        ),
        (
            refused(
                "[[daemon]]\nname = \"d\"\ncommand = [\"d\"]\nready = { connect = \"here\" }\n",
            ),
            "write `tcp:HOST:PORT` or `unix:PATH`",
        ),
    ] {
        assert!(refusal.contains(wanted), "{wanted:?} is not in:\n{refusal}");
    }
}

#[test]
fn a_daemon_that_is_not_installed_makes_its_stack_unavailable() {
    let catalog = catalog(WHOLE);
    assert!(catalog.programs().contains("brokerd"));
    let mut facts = facts();
    let stack = catalog.read_stack("mine", &adapters()).unwrap();
    assert_eq!(missing_daemon(&stack, &facts), None);
    facts.missing_programs = BTreeSet::from(["brokerd".to_owned()]);
    let reason = missing_daemon(&stack, &facts).unwrap();
    assert_eq!(
        reason.to_string(),
        "the program brokerd of its daemon Broker is not installed; run `apt-get install broker`"
    );
    // By name an error, otherwise left out.
    let mut named = request("quick");
    named.stacks = Some(vec!["mine".into()]);
    let refusal = refusal_of(plan(&catalog, &named, &adapters(), &facts));
    assert!(refusal.contains("apt-get install broker"), "{refusal}");
    let all = plan(&catalog, &request("quick"), &adapters(), &facts).unwrap();
    assert!(
        all.refused
            .iter()
            .any(|r| r.stack == "mine" && r.reason == reason)
    );
}
