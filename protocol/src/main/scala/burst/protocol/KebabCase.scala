package burst.protocol

import io.circe.derivation.Configuration

/** How the cases of enums are called on the wire, and wherever else they are written. */
object KebabCase:
  given Configuration = Configuration.default.withKebabCaseConstructorNames
