//! The `nbrs` program: words in, exit code out. Everything else is in the library.

fn main() -> std::process::ExitCode {
    nbrs::cli::main(std::env::args_os())
}
