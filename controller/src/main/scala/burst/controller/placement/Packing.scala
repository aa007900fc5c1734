package burst.controller.placement

import burst.controller.placement
import burst.protocol.KebabCase.given
import io.circe.derivation.ConfiguredEnumCodec
import io.circe.syntax.*

/** How a flare's workers are spread over containers: the policies, by their names in requests and settings.
  */
enum Packing(val policy: DefaultGranularity => PlacementPolicy) derives ConfiguredEnumCodec:
  case Mixed extends Packing(placement.Mixed(_))
  case Homogeneous extends Packing(placement.Homogeneous(_))
  case Heterogeneous extends Packing(_ => placement.Heterogeneous)

object Packing:
  val named: Seq[(String, Packing)] = values.toSeq.flatMap(it => it.asJson.asString.map(_ -> it))

  /** All policies, with the platform's choice of granularity. */
  def policies(default: DefaultGranularity): Map[Packing, PlacementPolicy] =
    values.iterator.map(packing => packing -> packing.policy(default)).toMap
