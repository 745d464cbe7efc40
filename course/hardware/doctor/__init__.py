"""Is this box ready for the labs? Its facts, read once, and what each check finds in them."""
