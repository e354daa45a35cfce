//! Licence expressions of SPDX, and whether they can be met.

/// Whether the SPDX licence expression can be met with the licences in `allow`. An old style slash
/// means `OR`, as crates.io once wrote it.
pub(super) fn permitted(expression: &str, allow: &[String]) -> Result<bool, String> {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let value = any_of(&mut rest, allow)?;
    match rest {
        [] => Ok(value),
        [word, ..] => Err(format!("unexpected {word:?}")),
    }
}

fn any_of(words: &mut &[&str], allow: &[String]) -> Result<bool, String> {
    let mut value = all_of(words, allow)?;
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        value |= all_of(words, allow)?;
    }
    Ok(value)
}

fn all_of(words: &mut &[&str], allow: &[String]) -> Result<bool, String> {
    let mut value = one(words, allow)?;
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        value &= one(words, allow)?;
    }
    Ok(value)
}

fn one(words: &mut &[&str], allow: &[String]) -> Result<bool, String> {
    let allowed = |licence: &str| allow.iter().any(|a| a == licence);
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let value = any_of(words, allow)?;
            match *words {
                [")", rest @ ..] => {
                    *words = rest;
                    Ok(value)
                }
                _ => Err("a missing )".into()),
            }
        }
        [licence, "WITH", exception, rest @ ..] => {
            *words = rest;
            Ok(allowed(&format!("{licence} WITH {exception}")))
        }
        [licence, rest @ ..] if !matches!(*licence, "OR" | "AND" | "WITH" | ")") => {
            *words = rest;
            Ok(allowed(licence))
        }
        _ => Err("a missing licence".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(expression: &str) -> Result<bool, String> {
        let allow = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"];
        permitted(expression, &allow.map(String::from))
    }

    #[test]
    fn one_of_several_licences_suffices_where_there_is_a_choice() {
        assert_eq!(may("MIT"), Ok(true));
        assert_eq!(may("GPL-3.0 OR MIT"), Ok(true));
        assert_eq!(may("GPL-3.0/MIT"), Ok(true));
        assert_eq!(may("GPL-3.0"), Ok(false));
    }

    #[test]
    fn all_licences_count_where_they_are_joined() {
        assert_eq!(may("MIT AND ISC"), Ok(true));
        assert_eq!(may("MIT AND GPL-3.0"), Ok(false));
        assert_eq!(may("MIT OR GPL-3.0 AND BSD-3-Clause"), Ok(true));
        assert_eq!(may("(MIT OR GPL-3.0) AND BSD-3-Clause"), Ok(false));
    }

    #[test]
    fn an_exception_is_part_of_the_licence() {
        assert_eq!(may("Apache-2.0 WITH LLVM-exception"), Ok(true));
        assert_eq!(may("Apache-2.0"), Ok(false));
    }

    #[test]
    fn a_broken_expression_is_an_error() {
        for broken in ["", "MIT OR", "(MIT", "MIT ISC", "AND MIT"] {
            assert!(may(broken).is_err(), "{broken:?}");
        }
    }
}
