package burst.controller.definition

import burst.protocol.Timestamp
import io.circe.Codec
import io.circe.JsonObject

/** A package of actions, with parameters for all of them; or a binding, which is another one under a name and
  * with parameters of its own.
  */
final case class ActionPackage(
    namespace: String,
    name: String,
    version: String,
    publish: Boolean,
    binding: Option[PackageName],
    parameters: Parameters,
    annotations: JsonObject,
    updated: Timestamp
):
  /** Whether somebody may read it and what is in it. */
  def isOpenTo(reader: String): Boolean = publish || namespace == reader

/** Where a package is. */
final case class PackageName(namespace: String, name: String) derives Codec.AsObject
