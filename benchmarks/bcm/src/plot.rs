//! Draws lines over a logarithmic axis.

use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;
use std::io;
use std::path::{Path, PathBuf};

/// Lines with their names.
pub struct Plot {
    pub title: String,
    pub x: &'static str,
    pub y: &'static str,
    /// Formats a label of the x axis.
    pub x_label: fn(f64) -> String,
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// Why a plot could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw {path}: {reason}")]
pub struct PlotError {
    path: PathBuf,
    reason: DrawError,
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum DrawError {
    Directory(#[from] io::Error),
    Drawing(#[from] DrawingAreaErrorKind<io::Error>),
}

impl Plot {
    /// Writes the plot as SVG.
    pub fn write(&self, path: &Path) -> Result<(), PlotError> {
        self.draw(path).map_err(|reason| PlotError {
            path: path.to_owned(),
            reason,
        })
    }

    fn draw(&self, path: &Path) -> Result<(), DrawError> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let left = points().map(|point| point.0).fold(f64::MAX, f64::min);
        let right = points().map(|point| point.0).fold(0.0, f64::max);
        let top = points().map(|point| point.1).fold(0.0, f64::max) * 1.1;
        let area = SVGBackend::new(path, (720, 420)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 17))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d((left * 0.9..right * 1.1).log_scale().base(2.0), 0.0..top)?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&|x| (self.x_label)(*x))
            .light_line_style(WHITE)
            .draw()?;
        for (number, (name, points)) in self.lines.iter().enumerate() {
            let color = Palette99::pick(number).to_rgba();
            let line = LineSeries::new(points.iter().copied(), color.stroke_width(2)).point_size(3);
            chart
                .draw_series(line)?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color));
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .draw()?;
        area.present()?;
        Ok(())
    }
}
