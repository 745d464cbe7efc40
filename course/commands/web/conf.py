"""Sphinx's settings for the site; Sphinx reads them in the folder of the pages' sources."""

project = "Training on several GPUs, by doing it"
author = "its contributors"
extensions = ["myst_nb", "course.commands.web.extension"]
language = "en"
html_theme = "furo"
html_title = project
html_static_path = ["_static"]
html_css_files = ["widget.css", "dark.css", "site.css"]
html_js_files = [("alive.js", {"type": "module"})]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_use_index = False
html_favicon = "_static/favicon.svg"
nb_execution_mode = "off"  # the outputs are those of the solved notebooks
nb_merge_streams = True
nb_render_text_lexer = "ranks"
nb_render_markdown_format = "gfm"  # with tables
nb_code_prompt_hide = "Hide it"
myst_enable_extensions = []
myst_heading_anchors = 3
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type", "misc.highlighting_failure"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c99", "color-brand-content": "#0b5c99"},
    "dark_css_variables": {"color-brand-primary": "#7cc4f5", "color-brand-content": "#7cc4f5"},
}
