//! One chart as SVG. Colours are the page's: what is drawn names them by fixed values, which the style sheet
//! replaces in light, dark and print. Drawn at twice its size, since coordinates are whole numbers.

use super::axis::Axis;
use plotters::coord::Shift;
use plotters::prelude::*;

/// How much larger a chart is drawn than it is shown.
const SCALE: u32 = 2;
/// Lines of one chart that have a colour of their own.
pub const COLOURS: usize = 8;

/// What the style sheet knows as the colour of a line.
fn colour(number: usize) -> RGBColor {
    RGBColor(1, 1, (number % COLOURS) as u8 + 1)
}

/// Grid, axes and words.
const GRID: RGBColor = RGBColor(2, 2, 1);
const WORDS: RGBColor = RGBColor(2, 2, 2);
const SHADE: RGBColor = RGBColor(2, 2, 3);
/// What was asked for.
pub const TARGET: usize = COLOURS - 1;

/// A line; where there is no value it is broken.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub name: String,
    pub colour: usize,
    pub points: Vec<(f64, Option<f64>)>,
}

/// Between the lowest and the highest value.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    pub colour: usize,
    pub points: Vec<(f64, f64, f64)>,
}

#[derive(Debug, Clone)]
pub struct Chart {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Line>,
    pub bands: Vec<Band>,
    /// Stretches of x that are marked.
    pub shades: Vec<(f64, f64)>,
}

/// How wide a chart is shown: on a screen, and on that of a phone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Wide,
    Narrow,
}

impl Size {
    fn pixels(self) -> (u32, u32) {
        match self {
            Size::Wide => (920, 280),
            Size::Narrow => (380, 240),
        }
    }

    /// Points of a line that can be told apart.
    pub fn points(self) -> usize {
        match self {
            Size::Wide => 700,
            Size::Narrow => 300,
        }
    }
}

type Drawing<T> = Result<T, Box<dyn std::error::Error>>;

impl Chart {
    /// The chart as an SVG element; absent where it has nothing to show.
    pub fn svg(&self, size: Size) -> Option<String> {
        if self.lines.iter().all(|line| line.points.iter().all(|(_, y)| y.is_none())) {
            return None;
        }
        let (width, height) = size.pixels();
        let mut svg = String::new();
        {
            let backend = SVGBackend::with_string(&mut svg, (width * SCALE, height * SCALE));
            // Drawing into a text cannot fail but for a range of nothing, which axes have not.
            self.draw(&backend.into_drawing_area(), size).ok()?;
        }
        let head = format!("<svg width=\"{}\" height=\"{}\" ", width * SCALE, height * SCALE);
        let title = super::escaped(&self.title);
        Some(
            svg.replacen(&head, &format!("<svg role=\"img\" aria-label=\"{title}\" "), 1)
                .replace(" opacity=\"1\"", ""),
        )
    }

    fn draw(&self, area: &DrawingArea<SVGBackend, Shift>, size: Size) -> Drawing<()> {
        let px = |n: u32| n * SCALE;
        let words = ("sans-serif", px(12)).into_font().color(&WORDS);
        let (x_ticks, y_ticks) = match size {
            Size::Wide => (10, 7),
            Size::Narrow => (5, 6),
        };
        let (x, y) = (self.x.thinned(x_ticks), self.y.thinned(y_ticks));
        let mut chart = ChartBuilder::on(area)
            .margin(px(6))
            .margin_right(px(16))
            .x_label_area_size(px(40))
            .y_label_area_size(px(if size == Size::Wide { 72 } else { 58 }))
            .build_cartesian_2d(x.clone(), y.clone())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(SCALE))
            .axis_style(GRID.stroke_width(SCALE))
            .label_style(words.clone())
            .x_label_formatter(&|at| x.label(*at))
            .y_label_formatter(&|at| y.label(*at))
            .x_labels(x.ticks.len().max(1))
            .y_labels(y.ticks.len().max(1))
            .x_desc(x.name)
            .y_desc(if size == Size::Wide { y.name } else { "" })
            .axis_desc_style(words)
            .draw()?;
        chart.draw_series(
            self.shades
                .iter()
                .map(|(from, to)| Rectangle::new([(*from, y.from), (*to, y.to)], SHADE.filled())),
        )?;
        for band in &self.bands {
            let up = band.points.iter().map(|(x, _, high)| (*x, *high));
            let down = band.points.iter().rev().map(|(x, low, _)| (*x, *low));
            let outline: Vec<(f64, f64)> = up.chain(down).collect();
            if outline.len() > 2 {
                chart.draw_series([Polygon::new(outline, colour(band.colour).mix(0.25).filled())])?;
            }
        }
        for line in &self.lines {
            let style =
                colour(line.colour).stroke_width(if line.colour == TARGET { SCALE } else { SCALE + 1 });
            for piece in line.points.split(|(_, y)| y.is_none()) {
                let points: Vec<(f64, f64)> = piece.iter().filter_map(|(x, y)| Some((*x, (*y)?))).collect();
                match points.as_slice() {
                    [] => {}
                    // A line of one point would not be seen.
                    [point] => {
                        let circle = Circle::new(*point, px(3), colour(line.colour).filled());
                        chart.draw_series([circle])?;
                    }
                    _ => {
                        chart.draw_series([PathElement::new(points, style)])?;
                    }
                }
            }
        }
        area.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, Option<f64>)>) -> Chart {
        Chart {
            title: "ops <of> \"main\"".to_owned(),
            x: Axis::seconds(10.0),
            y: Axis::rate(100.0, "ops/s"),
            lines: vec![Line { name: "all".to_owned(), colour: 0, points }],
            bands: Vec::new(),
            shades: vec![(2.0, 3.0)],
        }
    }

    #[test]
    fn a_line_is_broken_where_nothing_was_measured() {
        let points = vec![(0.0, Some(1.0)), (1.0, Some(50.0)), (2.0, None), (3.0, Some(9.0)), (4.0, None)];
        let svg = chart(points).svg(Size::Wide).expect("a chart");
        let colour = "#010101\"".to_owned();
        assert!(svg.contains("<polyline") && svg.contains(&colour), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 1, "a lone point is seen: {svg}");
        assert!(svg.contains("aria-label=\"ops &lt;of&gt; &quot;main&quot;\""), "{svg}");
        assert!(svg.contains("ops/s") && !svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn a_chart_of_nothing_is_none() {
        assert_eq!(chart(vec![(0.0, None)]).svg(Size::Narrow), None);
        assert_eq!(chart(Vec::new()).svg(Size::Narrow), None);
    }
}
