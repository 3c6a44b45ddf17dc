//! Open file -> page rasters.
