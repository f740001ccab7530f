mod corrupt;
mod cursor;
mod forward;
mod model;
mod needs;
mod reading;
mod slices;
mod values;
