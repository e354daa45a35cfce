//! Testbeds that are refused, as the user sees it.

use crate::common::{adapters, facts, refusal_of, request, shown_all};
use dyno_plan::{Catalog, plan};

#[test]
fn testbed_files() {
    let with = |text: &str| {
        let mut catalog = Catalog::builtin();
        catalog.add_testbed("mine", "testbeds/mine.toml", text);
        let mut request = request("quick");
        request.testbed = "mine".into();
        refusal_of(plan(&catalog, &request, &adapters(), &facts()))
    };
    let head = "description = \"mine\"\n";
    snapshot!(shown_all(&[
        ("without hosts", with(head)),
        ("an empty file", with("")),
        (
            "a way that does not exist",
            with(&format!("{head}[[host]]\nname = \"a\"\nreach = \"shh\"\n"))
        ),
        (
            "no address",
            with(&format!(
                "{head}[[host]]\nname = \"a\"\nreach = \"local\"\naddress = \"here\"\n"
            ))
        ),
        (
            "two local hosts",
            with(&format!(
                "{head}[[host]]\nname = \"a\"\nreach = \"local\"\n[[host]]\nname = \"b\"\nreach = \"local\"\n"
            ))
        ),
        (
            "a typo",
            with(&format!(
                "{head}[[host]]\nname = \"a\"\nreach = \"local\"\nadress = \"::1\"\n"
            ))
        ),
    ]));
}

#[test]
fn testbeds_of_several_hosts() {
    let with = |text: &str| {
        let mut catalog = Catalog::builtin();
        let text = format!("description = \"mine\"\n{text}");
        catalog.add_testbed("mine", "testbeds/mine.toml", text);
        let mut request = request("quick");
        request.testbed = "mine".into();
        refusal_of(plan(&catalog, &request, &adapters(), &facts()))
    };
    let namespace = |more: &str| format!("[[host]]\nname = \"h\"\nreach = \"namespace\"\n{more}\n");
    let local = "[[host]]\nname = \"here\"\nreach = \"local\"\n";
    snapshot!(shown_all(&[
        (
            "ssh without destination and address",
            with(
                "[[host]]\nname = \"a\"\nreach = \"ssh\"\n[[host]]\nname = \"b\"\nreach = \"ssh\"\ndestination = \"b\"\n"
            )
        ),
        (
            "a destination that is an option",
            with(
                "[[host]]\nname = \"a\"\nreach = \"ssh\"\naddress = \"10.0.0.1\"\ndestination = \"-oProxyCommand=x\"\n"
            )
        ),
        (
            "keys of another reach",
            with(&format!("{local}count = 2\ndestination = \"b\"\n"))
        ),
        ("mixed reaches", with(&format!("{local}{}", namespace("")))),
        (
            "too many namespaces",
            with(
                &[
                    namespace("count = 7"),
                    namespace("count = 2").replace("\"h\"", "\"g\"")
                ]
                .concat()
            )
        ),
        ("a count of none", with(&namespace("count = 0"))),
        ("the same name", with(&namespace("").repeat(2))),
        (
            "the same address",
            with(
                &[
                    namespace("count = 2"),
                    namespace("address = \"10.77.0.2\"").replace("\"h\"", "\"g\"")
                ]
                .concat()
            )
        ),
        (
            "two subnets",
            with(
                &[
                    namespace("count = 2"),
                    namespace("address = \"10.78.0.3\"").replace("\"h\"", "\"g\"")
                ]
                .concat()
            )
        ),
        (
            "a public address",
            with(&namespace("address = \"8.8.8.8\""))
        ),
        (
            "addresses that end",
            with(&namespace("count = 3\naddress = \"10.77.0.253\""))
        ),
        (
            "a name that is a path",
            with(&namespace("").replace("\"h\"", "\"../h\""))
        ),
        (
            "a link without a rate",
            with(&format!("[link]\nbuffer = \"1 MiB\"\n{}", namespace("")))
        ),
        (
            "a link in bytes, with a buffer for no frame",
            with(&format!(
                "[link]\nrate = \"125 MB/s\"\nbuffer = \"1 kB\"\n{}",
                namespace("")
            ))
        ),
        (
            "a link of one host",
            with(&format!("[link]\nrate = \"1 Gbit/s\"\n{local}"))
        ),
        (
            "a link's typo",
            with(&format!(
                "[link]\nrat = \"1 Gbit/s\"\nrate = \"1 Gbit/s\"\n{}",
                namespace("")
            ))
        ),
    ]));
}

#[test]
fn links_of_the_command_line() {
    let with = |testbed: &str, set: &[(&str, &str)]| {
        let set = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let mut request = request("quick");
        request.testbed = testbed.into();
        request.set = set.collect();
        refusal_of(plan(&Catalog::builtin(), &request, &adapters(), &facts()))
    };
    snapshot!(shown_all(&[
        (
            "no link to set",
            with("local", &[("link.rate", "1 Gbit/s")])
        ),
        (
            "no such setting",
            with("netns-1gbe", &[("link.delay", "1 ms")])
        ),
        ("not a rate", with("netns-1gbe", &[("link.rate", "fast")])),
    ]));
}
