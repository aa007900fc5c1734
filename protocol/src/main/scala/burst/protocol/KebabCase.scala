package burst.protocol

import io.circe.derivation.Configuration

/** The names of enum cases on the wire, and wherever else they are written. */
object KebabCase:
  given Configuration = Configuration.default.withKebabCaseConstructorNames
