//! Two plots of the training.

use std::path::{Path, PathBuf};

use plotters::prelude::*;
use pullback::{Error, Result};

/// What the training showed.
#[derive(Default)]
pub struct History {
    losses: Vec<f32>,
    /// The norm of every per-example gradient, before clipping.
    norms: Vec<f32>,
}

impl History {
    pub fn record(&mut self, loss: f32, norms: &[f32]) {
        self.losses.push(loss);
        self.norms.extend_from_slice(norms);
    }

    pub fn last_loss(&self) -> f32 {
        self.losses.last().copied().unwrap_or_default()
    }

    /// Writes both plots into a folder and returns their paths.
    pub fn draw(&self, folder: &Path, clip: f64) -> Result<[PathBuf; 2]> {
        std::fs::create_dir_all(folder).map_err(Error::other)?;
        let paths = [folder.join("loss.svg"), folder.join("gradient_norms.svg")];
        self.draw_losses(&paths[0]).map_err(|e| Error::other(e.to_string()))?;
        self.draw_norms(&paths[1], clip as f32).map_err(|e| Error::other(e.to_string()))?;
        Ok(paths)
    }

    fn draw_losses(&self, path: &Path) -> std::result::Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::new(path, (800, 500)).into_drawing_area();
        area.fill(&WHITE)?;
        let top = self.losses.iter().copied().fold(0.0f32, f32::max) * 1.05;
        let mut chart = ChartBuilder::on(&area)
            .caption("Loss of each training step", ("sans-serif", 24))
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(56)
            .build_cartesian_2d(0..self.losses.len(), 0.0..top)?;
        chart.configure_mesh().x_desc("step").y_desc("mean cross-entropy").draw()?;
        chart.draw_series(LineSeries::new(self.losses.iter().copied().enumerate(), BLUE.stroke_width(1)))?;
        area.present()?;
        Ok(())
    }

    fn draw_norms(&self, path: &Path, clip: f32) -> std::result::Result<(), Box<dyn std::error::Error>> {
        const BINS: usize = 60;
        let area = SVGBackend::new(path, (800, 500)).into_drawing_area();
        area.fill(&WHITE)?;
        let largest = self.norms.iter().copied().fold(0.0f32, f32::max).max(clip) * 1.02;
        let mut counts = [0u32; BINS];
        for &norm in &self.norms {
            counts[((norm / largest * BINS as f32) as usize).min(BINS - 1)] += 1;
        }
        // Counts span orders of magnitude; the logarithm of one more keeps empty bins at zero.
        let height = |count: u32| (f64::from(count) + 1.0).log10();
        let top = counts.iter().copied().map(height).fold(0.0, f64::max) * 1.05;
        let mut chart = ChartBuilder::on(&area)
            .caption("Norms of per-example gradients before clipping", ("sans-serif", 24))
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..largest, 0.0..top)?;
        chart.configure_mesh().x_desc("norm").y_desc("log10(count + 1)").draw()?;
        let width = largest / BINS as f32;
        chart.draw_series(counts.iter().enumerate().map(|(k, &count)| {
            let left = k as f32 * width;
            Rectangle::new([(left, 0.0), (left + width, height(count))], BLUE.mix(0.6).filled())
        }))?;
        chart.draw_series(LineSeries::new([(clip, 0.0), (clip, top)], RED.stroke_width(2)))?.label("clipped above");
        area.present()?;
        Ok(())
    }
}
