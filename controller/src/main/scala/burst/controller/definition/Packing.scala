package burst.controller.definition

import io.circe.derivation.{Configuration, ConfiguredEnumCodec}
import io.circe.syntax.*

/** How a flare's workers are spread over containers: the name of a placement policy. */
enum Packing:
  case Mixed, Homogeneous, Heterogeneous

object Packing:
  given Configuration = Configuration.default.withKebabCaseConstructorNames
  given ConfiguredEnumCodec[Packing] = ConfiguredEnumCodec.derived

  /** As they are called in requests and settings. */
  val named: Seq[(String, Packing)] = values.toSeq.flatMap(it => it.asJson.asString.map(_ -> it))
