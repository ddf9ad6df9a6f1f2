//! What the fuzz targets check, for a bounded time: so that the targets compile and hold, also where nobody fuzzes.

#[path = "../fuzz/checks/op_text.rs"]
mod op_text;
#[path = "../fuzz/checks/step.rs"]
mod step;
#[path = "../fuzz/checks/tags.rs"]
mod tags;
#[path = "../fuzz/checks/workload.rs"]
mod workload;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_file_loads_or_is_refused_where_it_is_wrong(
        text in r"(ops|blocks|scenarios|bindings|params|tags|: |, |- |\n|  |a|\{|\}|\[|\]|'|TEMPLATE\(|\)|<<|>>|&x|\*x|\x00|é){0,30}",
    ) {
        workload::check(text);
    }

    #[test]
    fn any_filter_selects_or_is_refused(text in r"(all|any|none|\(|\)|block|name|suite|:|=|,| |'|main|\.\*|\[|\\|é){0,16}") {
        tags::check(text);
    }

    #[test]
    fn any_op_text_compiles_or_is_refused_where_it_is_wrong(
        text in r#"(\{|\}|\[|\]|"|'|: |, |\{n\}|\{s\}|\{\{Identity\(\)\}\}|\{\(|\)\}|find|\$oid|1|-|\.5|ISODate\(|é| as |fail=|\n){0,24}"#,
    ) {
        op_text::check(text);
    }

    #[test]
    fn any_step_is_planned_or_refused(
        command in r#"(run|start|await|stop|wait|waitmillis| |=|==|===|cycles|alias|tags|ms|5|UNDEF|STEP|"|'|\\|é){0,16}"#,
        name in "[a-z=]{0,8}",
        value in "[ -~]{0,8}",
    ) {
        step::check((command, name, value));
    }
}
