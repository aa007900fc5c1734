package burst.protocol

import io.circe.{Codec, Decoder, Encoder}
import java.util.Base64
import org.apache.pekko.util.ByteString
import scala.util.Try

/** Bytes within a message. */
private[protocol] object Base64Bytes:
  given Codec[ByteString] = Codec.from(
    Decoder.decodeString.emapTry(text => Try(ByteString.fromArrayUnsafe(Base64.getDecoder.decode(text)))),
    Encoder.encodeString.contramap(bytes => Base64.getEncoder.encodeToString(bytes.toArrayUnsafe()))
  )
