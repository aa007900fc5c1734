package burst.protocol.link

import burst.protocol.JsonSerializer.Kind
import burst.protocol.{JsonSerializer, ToController, ToInvoker}
import io.circe.{Codec, Decoder, Encoder}
import io.circe.derivation.{Configuration, ConfiguredCodec}
import org.apache.pekko.actor.ExtendedActorSystem
import scala.concurrent.duration.{Duration, DurationLong, FiniteDuration}
import scala.util.Try

/** What travels between controllers and invokers. */
final class LinkSerializer(system: ExtendedActorSystem) extends JsonSerializer(7301, system):
  private given Configuration =
    Configuration.default.withDiscriminator("type").withKebabCaseConstructorNames

  /** In milliseconds; none is not a time that anybody could wait. */
  private given Codec[FiniteDuration] = Codec.from(
    Decoder.decodeLong.emapTry(millis => Try(millis.millis)).ensure(_ > Duration.Zero, "not above 0"),
    Encoder.encodeLong.contramap(_.toMillis)
  )

  protected val kinds: Vector[Kind[?]] = Vector(
    Kind[Hello]("hello", ConfiguredCodec.derived),
    Kind[ToLink]("to-link", ConfiguredCodec.derived),
    Kind[ToSession]("to-session", ConfiguredCodec.derived),
    Kind.often[ToInvoker]("to-invoker", summon),
    Kind.often[ToController]("to-controller", summon)
  )
