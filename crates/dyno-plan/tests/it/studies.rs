//! A suite whose table is a study file.

use crate::common::{adapters, facts, refusal_of, request};
use dyno_plan::{Catalog, plan};
use std::path::PathBuf;

const SUITE: &str = "title = \"mine\"\ntable = \"../studies/s.toml\"\n[[experiment]]\nname = \"x\"\nworkload = \"ping-pong\"\n";

fn catalog() -> Catalog {
    let mut catalog = Catalog::builtin();
    catalog.add_suite("mine", "own/suites/mine.toml", SUITE);
    catalog
}

#[test]
fn the_path_of_a_study_is_relative_to_the_suite() {
    let wanted = (
        "../studies/s.toml".to_owned(),
        PathBuf::from("own/suites/../studies/s.toml"),
    );
    assert_eq!(catalog().study_of("mine"), Some(wanted));
    assert_eq!(catalog().study_of("sodev"), None);
    assert_eq!(catalog().study_of("no such suite"), None);
}

#[test]
fn a_study_that_is_not_there_is_refused_where_the_suite_names_it() {
    let text = refusal_of(plan(&catalog(), &request("mine"), &adapters(), &facts()));
    assert!(
        text.contains("there is no study file ../studies/s.toml"),
        "{text}"
    );
    assert!(text.contains("own/suites/mine.toml:2:9"), "{text}");
    assert!(
        text.contains("relative to the folder of the suite"),
        "{text}"
    );
}

#[test]
fn a_run_keeps_the_text_of_its_study_and_can_be_repeated_with_it() {
    let mut catalog = catalog();
    catalog.add_study("../studies/s.toml", "own/studies/s.toml", "shows = []");
    let request = request("mine");
    let planned = plan(&catalog, &request, &adapters(), &facts()).unwrap();
    let origin = catalog.origin(&request, &planned).unwrap();
    let study = origin.study.as_ref().unwrap();
    assert_eq!(
        (study.path.as_str(), study.text.as_str()),
        ("own/studies/s.toml", "shows = []")
    );
    let again = Catalog::of_origin(&origin);
    let repeated = plan(&again, &request, &adapters(), &facts()).unwrap();
    assert_eq!(
        again.origin(&request, &repeated).unwrap().study,
        origin.study
    );
    assert_eq!(repeated.experiments, planned.experiments);
}
