//! The verbs of the command line: one table from which come `--help`, the errors for options that a verb does
//! not take, and shell completions.

/// A first word that asks for something of its own.
pub struct Verb {
    pub name: &'static str,
    /// What follows the name, each form on a line of its own.
    pub usage: &'static [&'static str],
    /// One line, lower case, no full stop.
    pub about: &'static str,
    /// Ids of the options that it takes.
    pub options: &'static [&'static str],
    pub example: &'static str,
}

/// Options of everything that runs.
pub const RUN_OPTIONS: &[&str] = &[
    "include",
    "argsfile",
    "data_dir",
    "keep_going",
    "progress",
    "report_json_to",
    "report_html_to",
    "report_ycsb_to",
    "report_csv_to",
    "report_interval",
    "metrics_listen",
    "report_prompush_to",
    "report_summary_to",
    "log_histograms",
    "log_histostats",
    "logs_dir",
    "session_name",
    "fail_if",
];

/// Words that begin a command of a run; several commands may follow each other.
pub use crate::workload::scenario::VERBS as RUN_VERBS;

/// Every verb.
pub static VERBS: &[Verb] = &[
    Verb {
        name: "run",
        usage: &[
            "workload=NAME [tags=FILTER] [cycles=N] [threads=N] [cyclerate=R] [k=v…]",
            "op=TEXT [driver=NAME] [cycles=N] [k=v…]",
        ],
        about: "run an activity and wait for its end",
        options: RUN_OPTIONS,
        example: "nbrs run workload=mongodb-keyvalue2 tags=block:rampup cycles=50k threads=auto",
    },
    Verb {
        name: "start",
        usage: &["k=v… [await ALIAS] [stop ALIAS] [waitmillis N]"],
        about: "start an activity and go on; the commands that follow wait for it or stop it",
        options: RUN_OPTIONS,
        example: "nbrs start driver=diag op=delay=10ms cycles=10k alias=load waitmillis 500 stop load",
    },
    Verb {
        name: "findmax",
        usage: &["--keep COND [--keep COND] [--min R] [--max R] [--hold 10s] k=v…"],
        about: "find the highest rate at which conditions are kept",
        options: &[
            "keep",
            "min",
            "max",
            "hold",
            "include",
            "argsfile",
            "data_dir",
            "progress",
            "report_json_to",
            "report_html_to",
        ],
        example: "nbrs findmax --keep 'p99<20ms' --hold 10s workload=mongodb-keyvalue2 tags=block:main.* threads=50",
    },
    Verb {
        name: "ycsb",
        usage: &["load|run mongodb [-s] [-P FILE] [-p NAME=VALUE] [-threads N] [-target N] [k=v…]"],
        about: "run YCSB's core workload by YCSB's own command line",
        options: RUN_OPTIONS,
        example: "nbrs ycsb load mongodb -s -P workloads/workloada -p recordcount=500000 -threads 16",
    },
    Verb {
        name: "show",
        usage: &["workload=NAME [tags=FILTER] [cycles=N] [k=v…] [--json]"],
        about: "print what each cycle would send, and contact nothing",
        options: &["json", "include", "argsfile"],
        example: "nbrs show workload=mongodb-keyvalue2 tags=block:rampup cycles=3",
    },
    Verb {
        name: "describe",
        usage: &["workload=NAME [tags=FILTER] [k=v…] [--json]"],
        about: "print the selected op templates",
        options: &["json", "include", "argsfile"],
        example: "nbrs describe workload=mongodb-keyvalue2 tags=block:rampup --json",
    },
    Verb {
        name: "plan",
        usage: &["WORKLOAD [SCENARIO…] [k=v…] [--json]"],
        about: "print the commands that a scenario's steps come to",
        options: &["json", "include", "argsfile"],
        example: "nbrs plan mongodb-keyvalue2 default rampup-cycles=10k",
    },
    Verb {
        name: "check",
        usage: &["FILE… [k=v…] [--strict] [--json]"],
        about: "say all that is wrong with workload files",
        options: &["json", "strict", "include", "argsfile"],
        example: "nbrs check carts.yaml --strict",
    },
    Verb {
        name: "eval",
        usage: &["RECIPE [--at LIST] [--json]", "--from FILE --at LIST [--json]"],
        about: "print what a binding recipe gives, cycle by cycle",
        options: &["at", "from", "json", "argsfile"],
        example: "nbrs eval 'Hash(); Mod(1000); ToString()' --at 0..5",
    },
    Verb {
        name: "compare",
        usage: &["A.json B.json [--fail-if COND] [--html FILE]"],
        about: "say how two results differ, and which differences are more than noise",
        options: &["fail_if", "html", "argsfile"],
        example: "nbrs compare before.json after.json --fail-if 'p99>+10%'",
    },
    Verb {
        name: "merge",
        usage: &[
            "PATH… [--report-json-to FILE] [--report-html-to FILE] [--report-ycsb-to FILE] [--report-summary-to FILE]",
        ],
        about: "make one result of those of several processes; a PATH is a result or a folder of them",
        options: &["report_json_to", "report_html_to", "report_ycsb_to", "report_summary_to", "argsfile"],
        example: "nbrs merge part-1.json part-2.json --report-json-to whole.json --report-html-to whole.html",
    },
    Verb {
        name: "report",
        usage: &["RESULT.json [--report-html-to FILE] [--report-ycsb-to FILE] [--report-summary-to FILE]"],
        about: "make reports of a result, as the run itself would have made them",
        options: &["report_json_to", "report_html_to", "report_ycsb_to", "report_summary_to", "argsfile"],
        example: "nbrs report result.json --report-html-to result.html",
    },
    Verb {
        name: "server",
        usage: &["[--port P] [--data-dir D] [--drop]"],
        about: "serve the embedded server to any client",
        options: &["port", "data_dir", "drop", "argsfile"],
        example: "nbrs server --port 27017 --data-dir ./data",
    },
    Verb {
        name: "help",
        usage: &["[VERB]", "function NAME", "functions [--markdown]", "workload NAME", "driver NAME"],
        about: "explain a verb, a binding function, a workload or a driver",
        options: &["markdown", "include", "argsfile"],
        example: "nbrs help function HashRange",
    },
    Verb {
        name: "completions",
        usage: &["bash|zsh|fish|elvish|powershell"],
        about: "print a script that completes nbrs in a shell",
        options: &[],
        example: "nbrs completions bash > ~/.local/share/bash-completion/completions/nbrs",
    },
];

/// The verb of a first word.
pub fn find(name: &str) -> Option<&'static Verb> {
    VERBS.iter().find(|verb| verb.name == name)
}

/// Whether a word is a command of a run or a verb of its own.
pub fn is_command(word: &str) -> bool {
    RUN_VERBS.contains(&word) || find(word).is_some()
}

/// Every word that may begin a command.
pub fn names() -> impl Iterator<Item = &'static str> {
    let others = RUN_VERBS.iter().copied().filter(|name| find(name).is_none());
    VERBS.iter().map(|verb| verb.name).chain(others)
}
