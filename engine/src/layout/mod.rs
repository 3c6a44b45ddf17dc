//! Page raster -> regions in reading order, with their lines and cells.
