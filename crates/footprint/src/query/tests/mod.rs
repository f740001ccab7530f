mod corrupt;
mod cursor;
mod forward;
mod model;
mod reading;
mod slices;
mod values;
