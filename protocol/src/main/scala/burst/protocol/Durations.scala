package burst.protocol

import com.github.plokhotnyuk.jsoniter_scala.core.{JsonReader, JsonValueCodec, JsonWriter}
import io.circe.{Codec, Decoder, Encoder}
import java.util.concurrent.TimeUnit
import java.util.concurrent.TimeUnit.{MICROSECONDS, MILLISECONDS}
import scala.concurrent.duration.{DurationLong, FiniteDuration}
import scala.util.Try

/** How durations are written as JSON: as whole numbers of a unit that the message defines. */
object Durations:
  val inMillis: Codec[FiniteDuration] = Codec.from(
    Decoder.decodeLong.emapTry(number => Try(number.millis)),
    Encoder.encodeLong.contramap(_.toMillis)
  )

  /** The same for frequent messages. */
  val oftenInMillis: JsonValueCodec[FiniteDuration] = Numbers(MILLISECONDS)
  val oftenInMicros: JsonValueCodec[FiniteDuration] = Numbers(MICROSECONDS)

  private final class Numbers(unit: TimeUnit) extends JsonValueCodec[FiniteDuration]:
    def decodeValue(in: JsonReader, default: FiniteDuration): FiniteDuration =
      val number = in.readLong()
      try FiniteDuration(number, unit)
      catch case _: IllegalArgumentException => in.decodeError("too long a time")
    def encodeValue(time: FiniteDuration, out: JsonWriter): Unit =
      out.writeVal(unit.convert(time.length, time.unit))
    def nullValue: FiniteDuration = null.asInstanceOf[FiniteDuration]
