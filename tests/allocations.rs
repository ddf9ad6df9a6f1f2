//! Cycle time allocates nothing that could be kept: the text of a cycle goes straight into the given buffer.

mod counting;

use counting::allocations;
use nbrs::bindings::Program;
use nbrs::functions::Context;
use nbrs::span::Text;

#[test]
fn writing_the_text_of_a_cycle_allocates_nothing() {
    for recipe in [
        "Identity()",
        "Add(3); Mul(7L); Mod(1000000)",
        "Hash(); Mod(1000000000); ToString()",
        "Uniform(0,1000000000); ToString() -> String",
        "Hash(); Uniform(0,1000)->int; ToString() -> String",
        "Hash(); Mod(1000000000); CharBufImage('A-Za-z0-9 _|/',160000,HashRange(50,150)); ToString();",
        "CharBufImage('A-Za-z0-9 _|/',160000,100)",
        "Hash(); HashedFileExtractToString('data/lorem_ipsum_full.txt',50,150) -> String",
        "Mod(20); ToString(); Prefix('a-'); Suffix('-z')",
        "Template('user-{}-{}',Identity(),NumberNameToString())",
        "HashRange(0.0d,1.0d); ToString()",
        "Mul(1.5)",
    ] {
        let program = Program::compile(&Text::unplaced(recipe)).expect(recipe).program;
        let mut context = Context::default();
        let mut out = Vec::with_capacity(1000);
        let texts = allocations(|| {
            for cycle in 0..1000 {
                out.clear();
                program.write_text(cycle, &mut context, &mut out).expect(recipe);
            }
        });
        let documents = allocations(|| {
            for cycle in 0..1000 {
                out.clear();
                program.write_bson(cycle, &mut context, &mut out).expect(recipe);
            }
        });
        assert_eq!((texts, documents), (0, 0), "{recipe}");
    }
}

#[test]
fn evaluating_a_number_allocates_nothing() {
    for recipe in ["Hash()", "Uniform(1,10) -> int", "HashRange(0.0d,1.0d)", "ToInt(); HashRange(0,10)"] {
        let program = Program::compile(&Text::unplaced(recipe)).expect(recipe).program;
        let mut context = Context::default();
        let made = allocations(|| {
            for cycle in 0..1000 {
                program.eval(cycle, &mut context).expect(recipe);
            }
        });
        assert_eq!(made, 0, "{recipe}");
    }
}
