//! Binding text → AST, by the grammar in `grammar/recipe.pest`. Does not know that a function exists.
