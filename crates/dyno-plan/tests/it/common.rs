//! Adapters made up for tests, and ways to plan and to show errors in one line.

use dyno_model::adapter::{AdapterDescription, Capabilities, OptionKind, OptionSpec};
use dyno_model::{Placement, Plan, Wait};
use dyno_plan::{Catalog, HostFacts, PlanError, Request, plan};
use miette::{GraphicalReportHandler, GraphicalTheme};

/// A snapshot without the expression that made it, which would repeat its inputs.
macro_rules! snapshot {
    ($($arg:tt)*) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($($arg)*) })
    };
}

fn adapter(name: &str, waits: &[Wait]) -> AdapterDescription {
    AdapterDescription {
        name: name.into(),
        version: "1".into(),
        summary: String::new(),
        capabilities: Capabilities {
            loan: false,
            waits: waits.to_vec(),
            reliable: true,
            best_effort: true,
            request_response: false,
            placements: vec![Placement::Thread, Placement::Process],
            max_message: None,
            fragments_above: None,
            max_receivers: None,
            sends_later: false,
            asks: false,
            loopback: false,
        },
        options: Vec::new(),
        unavailable: None,
        library: None,
    }
}

fn option(name: &str, kind: OptionKind, doc: &str) -> OptionSpec {
    OptionSpec {
        name: name.into(),
        kind,
        default: None,
        least: (name == "queue_depth").then_some(1),
        most: None,
        doc: doc.into(),
    }
}

fn one_of(values: &[&str]) -> OptionKind {
    OptionKind::OneOf(values.iter().map(|v| (*v).to_owned()).collect())
}

/// Descriptions like those of the real adapters.
pub(crate) fn adapters() -> Vec<AdapterDescription> {
    let both = [Wait::Spin, Wait::Block];
    let mut null = adapter("null", &[Wait::Spin]);
    null.capabilities.loopback = true;
    null.capabilities.loan = true;
    null.capabilities.max_receivers = Some(1);
    let mut floor = adapter("floor", &[Wait::Spin, Wait::Block, Wait::Callback]);
    floor.capabilities.loan = true;
    floor.options = vec![option("slots", OptionKind::Int, "messages in a channel")];
    let mut pipe = adapter("pipe", &both);
    pipe.options = vec![option("named", OptionKind::Bool, "named pipes")];
    let mut uds = adapter("uds", &both);
    uds.options = vec![option(
        "type",
        one_of(&["stream", "dgram", "seqpacket"]),
        "socket type",
    )];
    let mut tcp = adapter("tcp", &both);
    tcp.capabilities.placements.push(Placement::Host);
    tcp.options = vec![option(
        "nodelay",
        OptionKind::Bool,
        "send small messages at once",
    )];
    let mut udp = adapter("udp", &both);
    udp.options = vec![
        option("rcvbuf", OptionKind::Int, "receive buffer in bytes"),
        option(
            "congestion",
            one_of(&["block", "drop"]),
            "a full send buffer",
        ),
    ];
    let mut vsock = adapter("vsock", &both);
    vsock.capabilities.placements = vec![Placement::Host];
    let mut iceoryx2 = adapter("iceoryx2", &both);
    iceoryx2.capabilities.loan = true;
    iceoryx2.options = vec![
        option("queue_depth", OptionKind::Int, "messages in a buffer"),
        option(
            "safe_overflow",
            OptionKind::Bool,
            "a full buffer loses its oldest",
        ),
    ];
    let mut posix_mq = adapter("posix-mq", &both);
    posix_mq.options = vec![OptionSpec {
        most: Some(10),
        ..option(
            "queue_depth",
            OptionKind::Int,
            "messages in a queue; the limit is fs.mqueue.msg_max",
        )
    }];
    let mut zenoh = adapter("zenoh", &[Wait::Spin, Wait::Block, Wait::Callback]);
    zenoh.options = vec![
        option("link", one_of(&["tcp", "udp"]), "transport"),
        option("shm", OptionKind::Bool, "payloads in shared memory"),
        option("congestion", one_of(&["block", "drop"]), "a full queue"),
        option("express", OptionKind::Bool, "sent at once"),
        option("buffer", OptionKind::Int, "messages of a reader"),
        option("router", OptionKind::Int, "the port of a router"),
        option("dds", OptionKind::Bool, "the other side is DDS"),
        option("send_timeout_ms", OptionKind::Int, "a wait"),
    ];
    zenoh.capabilities.sends_later = true;
    let mut all = vec![
        null, floor, pipe, uds, posix_mq, tcp, udp, vsock, iceoryx2, zenoh,
    ];
    all.extend(
        [
            "cyclonedds",
            "dbus",
            "fastdds",
            "grpc",
            "iceoryx",
            "kuksa",
            "mqtt",
            "nats",
            "null-c",
            "vsomeip",
        ]
        .map(not_built),
    );
    all
}

/// An adapter in a shared library that was not built.
fn not_built(name: &str) -> AdapterDescription {
    let mut adapter = adapter(name, &[]);
    adapter.unavailable = Some("its library was not built".into());
    adapter
}

/// Two CPUs, and enough of everything else.
pub(crate) fn facts() -> HostFacts {
    HostFacts {
        cpus: vec![0, 1],
        shm_free_bytes: Some(1 << 30),
        memory_bytes: Some(8 << 30),
        ..HostFacts::default()
    }
}

/// A request for `suite` on `local`.
pub(crate) fn request(suite: &str) -> Request {
    Request {
        suite: suite.into(),
        testbed: "local".into(),
        seed: 1,
        ..Request::default()
    }
}

/// Plans a suite given as text, beside everything built in.
pub(crate) fn plan_text(text: &str) -> Result<Plan, PlanError> {
    plan_with(text, &[], |_| {})
}

/// The same with `--set`, and with changes to the request.
pub(crate) fn plan_with(
    text: &str,
    set: &[(&str, &str)],
    change: impl FnOnce(&mut Request),
) -> Result<Plan, PlanError> {
    let mut catalog = Catalog::builtin();
    catalog.add_suite("mine", "mine.toml", text);
    let mut request = request("mine");
    request.set = set
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    change(&mut request);
    plan(&catalog, &request, &adapters(), &facts())
}

/// The remarks of a plan in words.
pub(crate) fn said(plan: &Plan) -> Vec<String> {
    plan.warnings.iter().map(ToString::to_string).collect()
}

/// A suite with one experiment: these lines after its name.
pub(crate) fn suite(experiment: &str) -> String {
    format!("title = \"test\"\n[[experiment]]\nname = \"x\"\n{experiment}\n")
}

/// An error as a terminal without colours shows it.
pub(crate) fn shown(error: &PlanError) -> String {
    let mut text = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .without_syntax_highlighting()
        .render_report(&mut text, error)
        .unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// The error of a plan that must be refused, shown.
pub(crate) fn refusal_of(result: Result<Plan, PlanError>) -> String {
    match result {
        Ok(plan) => panic!("planned {} experiments", plan.experiments.len()),
        Err(error) => shown(&error),
    }
}

/// One after the other, with a line of what was tried above each.
pub(crate) fn shown_all(cases: &[(&str, String)]) -> String {
    cases
        .iter()
        .map(|(what, text)| format!("### {what}\n{text}\n"))
        .collect::<Vec<_>>()
        .join("\n")
}
