package burst.controller.definition

import burst.protocol.KebabCase.given
import io.circe.derivation.ConfiguredEnumCodec
import io.circe.syntax.*

/** How a flare's workers are spread over containers: the name of a placement policy. */
enum Packing derives ConfiguredEnumCodec:
  case Mixed, Homogeneous, Heterogeneous

object Packing:
  /** Their names in requests and settings. */
  val named: Seq[(String, Packing)] = values.toSeq.flatMap(it => it.asJson.asString.map(_ -> it))
