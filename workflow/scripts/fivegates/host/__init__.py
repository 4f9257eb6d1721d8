"""The host backend: one kernel source, compiled and run on the CPU."""
