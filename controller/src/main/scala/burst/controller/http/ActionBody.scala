package burst.controller.http

import burst.controller.definition.{EntityVersion, Kind, KindFamily, Parameters}
import burst.controller.json.JsonPieces
import burst.controller.limits.{NamespaceLimits, PlatformLimits}
import io.circe.{Json, JsonObject}
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.{DurationLong, FiniteDuration}

/** The program of an action as a request sends it; `code` is empty if the request has none. */
final case class ActionExec(
    kind: String,
    family: KindFamily,
    code: Code,
    main: Option[String],
    image: Option[String],
    components: Vector[String]
)

/** The changes that a request makes to an action; fields it leaves out keep their stored values. */
final case class ActionChange(
    exec: Option[ActionExec],
    parameters: Option[Parameters],
    annotations: JsonObject,
    removedAnnotations: Set[String],
    timeout: Option[FiniteDuration],
    memory: Option[Int],
    logs: Option[Int],
    concurrency: Option[Int],
    publish: Option[Boolean],
    version: Option[String]
)

/** Reads the body of a request that creates or changes an action. Ignores fields that it does not know. */
final class ActionBody(pieces: JsonPieces, platform: PlatformLimits):
  import ActionBody.*
  import EntityProblem.*

  private val codes = CodeReader(pieces)

  def read(body: ByteString, limits: NamespaceLimits): Either[ApiError, ActionChange] =
    for
      split <- SplitBody.ofAction(body, pieces)
      fields = Fields.of(split.fields)
      exec <- fields.objectAt("exec").flatMap:
        case None => Right(None)
        case Some(_) => exec(fields, split, limits).map(Some(_))
      parameters <- KeyValues.parameters(split.fields)
      annotations <- KeyValues.read(split.fields, "annotations")
      removed <- names(split.fields, "delAnnotations")
      own <- fields.objectAt("limits")
      own <- Right(own.getOrElse(JsonObject.empty))
      timeout <- timeLimit(own, "timeout", ActionLimits.LeastTimeout, platform.timeout)
      memory <- limit(own, "memory", ActionLimits.LeastMemory, limits.memory, "MB")
      logs <- limit(own, "logs", 0, ActionLimits.MostLogs, "MB")
      concurrency <-
        limit(own, "concurrency", 1, ActionLimits.MostConcurrency, "calls of a container at once")
      publish <- fields.boolean("publish")
      version <- version(fields)
    yield ActionChange(
      exec,
      parameters,
      annotations.fold(JsonObject.empty)(_.values),
      removed,
      timeout,
      memory.map(_.toInt),
      logs.map(_.toInt),
      concurrency.map(_.toInt),
      publish,
      version
    )

  private def exec(
      fields: Fields,
      split: SplitBody,
      limits: NamespaceLimits
  ): Either[ApiError, ActionExec] =
    for
      inner <- fields.fields("exec")
      said <- inner.string("kind")
      kind <- said.flatMap(Kind.resolve).toRight(ApiError.OfEntity(UnknownKind(said)))
      family <- Kind.familyOf(kind).toRight(ApiError.OfEntity(UnknownKind(said)))
      main <- inner.string("main")
      image <- inner.string("image")
      _ <- Either.cond(main.forall(_.lengthIs <= MostName), (), ApiError.WrongType("exec.main", AName))
      _ <- Either.cond(image.forall(isImage), (), ApiError.WrongType("exec.image", AnImage))
      components <- inner.json("components") match
        case None => Right(Vector.empty)
        case Some(json) => strings(json).toRight(ApiError.OfEntity(OfSequence(NoNames)))
      code <- split.large match
        case Some(code) if family != KindFamily.Sequence => codes.read(code, limits.packageBytes).map(Some(_))
        case _ => Right(None)
      _ <- family match
        case KindFamily.Sequence => Right(())
        case KindFamily.Blackbox => image.toRight(ApiError.MissingField("exec.image"))
        case _ => code.toRight(ApiError.MissingField("exec.code"))
    yield ActionExec(
      kind,
      family,
      code.getOrElse(Code(Array.empty, binary = false)),
      main.filter(_.nonEmpty),
      image.filter(_ => family == KindFamily.Blackbox),
      if family == KindFamily.Sequence then components else Vector.empty
    )

object ActionBody:
  import EntityProblem.*

  private val NoNames = burst.controller.action.SequenceProblem.BadComponents
  val MostName = 512
  val AName = s"a name of at most $MostName characters"
  private val AnImage = "the name of an image, such as registry.example.org/image:1"
  private val Image = raw"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,511}".r

  private def isImage(text: String): Boolean = Image.matches(text)

  private def strings(json: Json): Option[Vector[String]] =
    json.asArray.map(_.map(_.asString)).filter(_.forall(_.isDefined)).map(_.flatten)

  private def names(fields: JsonObject, field: String): Either[ApiError, Set[String]] =
    fields(field).filterNot(_.isNull) match
      case None => Right(Set.empty)
      case Some(json) =>
        strings(json).map(_.toSet).toRight(ApiError.WrongType(field, "an array of annotations' names"))

  /** Reads the label that the next version is to get; an empty one counts as none. */
  def version(fields: Fields): Either[ApiError, Option[String]] =
    fields.string("version").flatMap:
      case Some("") => Right(None)
      case Some(text) if !EntityVersion.isValid(text) => Left(ApiError.OfEntity(InvalidVersion))
      case version => Right(version)

  private def timeLimit(
      limits: JsonObject,
      name: String,
      least: FiniteDuration,
      most: FiniteDuration
  ): Either[ApiError, Option[FiniteDuration]] =
    limit(limits, name, least = least.toMillis, most = most.toMillis, "milliseconds").map(_.map(_.millis))

  private def limit(
      limits: JsonObject,
      name: String,
      least: Long,
      most: Long,
      unit: String
  ): Either[ApiError, Option[Long]] =
    limits(name).filterNot(_.isNull) match
      case None => Right(None)
      case Some(json) =>
        json.asNumber.flatMap(_.toLong).filter(n => n >= least && n <= most) match
          case None =>
            val said = Fields.shortened(json.noSpaces)
            Left(ApiError.OfEntity(LimitRange(name, said, least, most, unit)))
          case found => Right(found)
