"""The parts of `site`: solved labs as web pages, whose explorables move without a kernel."""
