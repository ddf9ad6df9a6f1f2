//! Cycle time allocates nothing that could be kept: the text of a cycle goes straight into the given buffer.

use nbrs::bindings::Program;
use nbrs::functions::Context;
use nbrs::span::Text;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is passed on to the system's allocator; only a number is counted beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as required of the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as required of the caller.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as required of the caller.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn writing_the_text_of_a_cycle_allocates_nothing() {
    for recipe in [
        "Identity()",
        "Hash(); Mod(1000000000); ToString()",
        "Uniform(0,1000000000); ToString() -> String",
        "Hash(); Uniform(0,1000)->int; ToString() -> String",
        "Hash(); Mod(1000000000); CharBufImage('A-Za-z0-9 _|/',160000,HashRange(50,150)); ToString();",
        "Hash(); HashedFileExtractToString('data/lorem_ipsum_full.txt',50,150) -> String",
        "Mod(20); ToString(); Prefix('a-'); Suffix('-z')",
        "Template('user-{}-{}',Identity(),NumberNameToString())",
        "HashRange(0.0d,1.0d); ToString()",
        "Mul(1.5)",
    ] {
        let program = Program::compile(&Text::unplaced(recipe)).expect(recipe).program;
        let mut context = Context::default();
        let mut out = Vec::with_capacity(1000);
        let before = ALLOCATIONS.get();
        for cycle in 0..1000 {
            out.clear();
            program.write_text(cycle, &mut context, &mut out).expect(recipe);
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "{recipe}");
    }
}

#[test]
fn evaluating_a_number_allocates_nothing() {
    for recipe in ["Hash()", "Uniform(1,10) -> int", "HashRange(0.0d,1.0d)", "ToInt(); HashRange(0,10)"] {
        let program = Program::compile(&Text::unplaced(recipe)).expect(recipe).program;
        let mut context = Context::default();
        let before = ALLOCATIONS.get();
        for cycle in 0..1000 {
            program.eval(cycle, &mut context).expect(recipe);
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "{recipe}");
    }
}
