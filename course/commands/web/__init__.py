"""What `site` is made of: solved labs as web pages, whose explorables move without a kernel."""
