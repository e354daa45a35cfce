//! What the command line puts in the place of a text's values: `--set` and `--trials`.

use dyno_model::Request;
use dyno_toml::{Entry, Node, Place, Value, parse_flag_value};

/// A flag `--set KEY=VALUE`, parsed.
pub(crate) struct Override {
    pub(crate) entry: Entry,
}

impl Override {
    /// From `--trials N`.
    pub(crate) fn trials(trials: u32) -> Self {
        let at = Place::flag("--trials", &trials.to_string());
        Override {
            entry: Entry {
                key: "trials".into(),
                key_at: at.clone(),
                node: Node {
                    at,
                    value: Value::Int(trials.into()),
                },
            },
        }
    }

    /// From `--set KEY=VALUE`.
    pub(crate) fn parse(key: &str, value: &str) -> Self {
        let node = parse_flag_value(key, value);
        let key_at = Place {
            span: "--set ".len().."--set ".len() + key.len(),
            source: node.at.source.clone(),
        };
        Override {
            entry: Entry {
                key: key.to_owned(),
                key_at,
                node,
            },
        }
    }
}

/// `--set` and `--trials`; later ones win.
pub(crate) fn of_request(request: &Request) -> Vec<Override> {
    let mut all: Vec<Override> = request
        .set
        .iter()
        .map(|(key, value)| Override::parse(key, value))
        .collect();
    all.extend(request.trials.map(Override::trials));
    all
}
