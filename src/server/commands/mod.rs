//! The table of wire commands: one row and one file each.

mod aggregate;
mod build_info;
mod count;
mod create;
mod create_indexes;
mod delete;
mod distinct;
mod drop;
mod drop_database;
mod end_sessions;
mod find;
mod get_more;
mod hello;
mod insert;
mod kill_cursors;
mod list_collections;
mod list_databases;
mod list_indexes;
mod ping;
mod server_status;
mod update;
mod writes;

use super::command::CommandRow;

/// Every command that the server has; the frequent ones first, since the table is searched from the front.
pub static COMMANDS: &[CommandRow] = &[
    find::ROW,
    insert::ROW,
    update::ROW,
    get_more::ROW,
    delete::ROW,
    aggregate::ROW,
    count::ROW,
    distinct::ROW,
    ping::ROW,
    hello::ROW,
    end_sessions::ROW,
    kill_cursors::ROW,
    build_info::ROW,
    server_status::ROW,
    create::ROW,
    create_indexes::ROW,
    drop::ROW,
    drop_database::ROW,
    list_collections::ROW,
    list_databases::ROW,
    list_indexes::ROW,
];

#[cfg(test)]
mod tests {
    use super::COMMANDS;

    #[test]
    fn no_name_stands_twice_and_no_field_is_taken_and_refused() {
        let names: Vec<_> = COMMANDS.iter().flat_map(|row| row.names).collect();
        for (position, name) in names.iter().enumerate() {
            assert!(!names[..position].contains(name), "{name}");
        }
        for row in COMMANDS {
            assert!(row.fields.iter().all(|field| !row.refused.contains(field)), "{}", row.names[0]);
        }
    }
}
