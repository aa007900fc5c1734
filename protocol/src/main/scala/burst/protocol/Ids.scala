package burst.protocol

import io.circe.Codec

/** Where a worker failed and why. */
final case class Probe(a: Int, b: Option[String] = None) derives Codec.AsObject
