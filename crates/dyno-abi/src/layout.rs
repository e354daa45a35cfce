//! The mirror against the header: a C program prints every size and offset.

use crate::raw;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

/// Lines `struct.field offset` and `struct size`, as both sides print them.
macro_rules! layout {
    ($rust:ident, $c:ident, $ty:ty { $($field:ident),* $(,)? }) => {
        $rust.push((stringify!($c).to_owned(), size_of::<$ty>()));
        $( $rust.push((format!("{}.{}", stringify!($c), stringify!($field)), offset_of!($ty, $field))); )*
    };
}

#[expect(clippy::too_many_lines, reason = "one row for each field of the ABI")]
fn ours() -> Vec<(String, usize)> {
    let mut all = Vec::new();
    layout!(
        all,
        dyno_option_spec,
        raw::OptionSpec {
            name,
            kind,
            most,
            values,
            default_value,
            doc
        }
    );
    layout!(
        all,
        dyno_description,
        raw::Description {
            name,
            version,
            summary,
            max_message,
            fragments_above,
            max_receivers,
            option_count,
            options,
            unavailable
        }
    );
    layout!(all, dyno_option, raw::OptionText { name, value });
    layout!(
        all,
        dyno_context,
        raw::Context {
            session,
            scratch,
            address,
            participant,
            looked_at,
            option_count,
            options,
            claim,
            host
        }
    );
    layout!(
        all,
        dyno_endpoint,
        raw::Endpoint {
            address,
            participant,
            port,
            reserved
        }
    );
    layout!(
        all,
        dyno_channel,
        raw::Channel {
            name,
            partner,
            max_payload,
            id,
            writer,
            carries,
            writer_address,
            readers,
            reader_count,
            reserved
        }
    );
    layout!(
        all,
        dyno_adapter_ops,
        raw::Ops {
            abi_version,
            struct_size,
            capabilities,
            describe,
            last_error,
            open,
            close,
            sender_open,
            sender_close,
            sender_matched,
            loan,
            send,
            receiver_open,
            receiver_close,
            receiver_matched,
            take,
            subscribe,
            subscription_close,
            subscription_matched,
            fill_and_send
        }
    );
    all
}

fn constants() -> Vec<(&'static str, i64)> {
    let bit = |b: u64| i64::try_from(b).unwrap();
    vec![
        ("DYNO_ABI_VERSION", raw::ABI_VERSION.into()),
        (
            "DYNO_PATIENCE_MS",
            dyno_adapter::PATIENCE.as_millis() as i64,
        ),
        ("DYNO_OK", raw::OK.into()),
        ("DYNO_WAITED", raw::WAITED.into()),
        ("DYNO_REFUSED", raw::REFUSED.into()),
        ("DYNO_NONE", raw::NONE.into()),
        ("DYNO_ERROR", raw::ERROR.into()),
        ("DYNO_UNSUPPORTED", raw::UNSUPPORTED.into()),
        ("DYNO_PEER_GONE", raw::PEER_GONE.into()),
        ("DYNO_BAD_OPTION", raw::BAD_OPTION.into()),
        ("DYNO_CAN_LOAN", bit(raw::CAN_LOAN)),
        ("DYNO_CAN_SPIN", bit(raw::CAN_SPIN)),
        ("DYNO_CAN_BLOCK", bit(raw::CAN_BLOCK)),
        ("DYNO_CAN_CALLBACK", bit(raw::CAN_CALLBACK)),
        ("DYNO_CAN_RELIABLE", bit(raw::CAN_RELIABLE)),
        ("DYNO_CAN_BEST_EFFORT", bit(raw::CAN_BEST_EFFORT)),
        ("DYNO_CAN_CALL", bit(raw::CAN_CALL)),
        ("DYNO_CAN_THREAD", bit(raw::CAN_THREAD)),
        ("DYNO_CAN_PROCESS", bit(raw::CAN_PROCESS)),
        ("DYNO_CAN_HOST", bit(raw::CAN_HOST)),
        ("DYNO_CAN_LOOPBACK", bit(raw::CAN_LOOPBACK)),
        ("DYNO_SENDS_LATER", bit(raw::SENDS_LATER)),
        ("DYNO_ASKS", bit(raw::ASKS)),
        ("DYNO_OPTION_BOOL", raw::OPTION_BOOL.into()),
        ("DYNO_OPTION_INT", raw::OPTION_INT.into()),
        ("DYNO_OPTION_FLOAT", raw::OPTION_FLOAT.into()),
        ("DYNO_OPTION_TEXT", raw::OPTION_TEXT.into()),
        ("DYNO_OPTION_ONE_OF", raw::OPTION_ONE_OF.into()),
        ("DYNO_CARRIES_MESSAGES", raw::CARRIES_MESSAGES.into()),
        ("DYNO_CARRIES_REQUESTS", raw::CARRIES_REQUESTS.into()),
        ("DYNO_CARRIES_RESPONSES", raw::CARRIES_RESPONSES.into()),
        ("DYNO_WAIT_SPIN", raw::WAIT_SPIN.into()),
        ("DYNO_WAIT_BLOCK", raw::WAIT_BLOCK.into()),
    ]
}

#[test]
fn the_mirror_has_the_headers_sizes_offsets_and_constants() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (
        directory.path().join("layout.c"),
        directory.path().join("layout"),
    );
    let ours = ours();
    let mut code = "#include <stdio.h>\n#include \"dyno_adapter.h\"\nint main(void) {\n".to_owned();
    for (name, _) in &ours {
        code += &match name.split_once('.') {
            Some((of, field)) => {
                format!("printf(\"{name} %zu\\n\", offsetof({of}, {field}));\n")
            }
            None => format!("printf(\"{name} %zu\\n\", sizeof({name}));\n"),
        };
    }
    for (name, _) in constants() {
        code += &format!("printf(\"{name} %lld\\n\", (long long){name});\n");
    }
    code += "return 0; }\n";
    std::fs::write(&source, code).unwrap();
    let compiled = Command::new("cc")
        .args(["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(&include)
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(compiled.success(), "the header does not compile as C99");
    let output = Command::new(&program).output().unwrap();
    let theirs = String::from_utf8(output.stdout).unwrap();
    let expected: String = ours
        .iter()
        .map(|(name, value)| format!("{name} {value}\n"))
        .chain(
            constants()
                .iter()
                .map(|(name, value)| format!("{name} {value}\n")),
        )
        .collect();
    assert_eq!(theirs, expected);
}
