"""Floor 6: page objects, one module a page: what a template is given, prepared and declared."""
