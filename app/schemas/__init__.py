"""What goes over the wire, one file per noun: marshmallow schemas that validate, serialise and document."""
