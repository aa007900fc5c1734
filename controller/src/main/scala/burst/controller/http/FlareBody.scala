package burst.controller.http

import burst.protocol.JsonText
import burst.controller.json.{Defaults, JsonPieces}
import burst.controller.http.BodyIntake.Room
import burst.controller.definition.{Definition, FlareOptions}
import burst.controller.flare.{Flare, FlareRequest}
import burst.controller.scheduler.Refusal
import burst.controller.store.NamespaceLimits
import burst.protocol.{GroupRole, Inputs}
import io.circe.{Json, JsonObject}

/** Turns the body of a request for a flare or a group into a complete, checked request. Pure. */
final class FlareBody(
    options: OptionsReader,
    defaults: FlareDefaults,
    pieces: JsonPieces,
    inputsLimit: Long
):
  import ApiError.*

  def read(
      body: SplitBody,
      definition: Definition,
      limits: NamespaceLimits,
      room: Room
  ): Either[ApiError, FlareRequest] =
    val fields = Fields.of(body.fields)
    for
      _ <- fields.only("params" +: "size" +: OptionsReader.Names*)
      own <- options.read(fields, limits)
      size <- fields.int("size", 1, limits.burstSize)
      sized <- inputs(size, body.large, limits)
      (workers, inputs) = sized
      filled <- withParameters(inputs, FlareBody.defaults(definition.parameters), room)
      request = complete(definition, workers, filled, own, limits)
      _ <- allowed(request, limits)
    yield request

  /** A group of a definition: how many workers, on what terms, and how long it may be idle. */
  def readGroup(
      fields: Fields,
      definition: Definition,
      limits: NamespaceLimits
  ): Either[ApiError, FlareRequest] =
    for
      _ <- fields.only("definition" +: "size" +: "idleTimeout" +: OptionsReader.Names.filter(_ != "retries")*)
      own <- options.read(fields, limits)
      size <- fields.int("size", 1, limits.burstSize).flatMap(_.toRight(MissingField("size")))
      idle <- options.idleTimeout(fields)
      shared = Inputs.Shared(JsonText.of(Json.fromJsonObject(definition.parameters)))
      request = complete(definition, size, shared, own, limits)
      _ <- allowed(request, limits)
    yield request.copy(retries = 0, group = Some(GroupRole.Holder(idle.getOrElse(defaults.groupIdleTimeout))))

  /** A flare on a group, whose own inputs stand under the flare's. */
  def readMember(
      body: SplitBody,
      group: Flare,
      below: Defaults,
      limits: NamespaceLimits,
      room: Room
  ): Either[ApiError, FlareRequest] =
    val fields = Fields.of(body.fields)
    for
      _ <- fields.only("params", "timeout")
      own <- options.read(fields, limits)
      sized <- inputs(Some(group.request.size), body.large, limits)
      filled <- withParameters(sized._2, below, room)
    yield group.request.copy(
      inputs = filled,
      timeout = own.timeout.getOrElse(group.request.timeout),
      group = Some(GroupRole.Member(group.id))
    )

  /** What a definition asks for may not be had any more: the operator takes backends away and lowers limits.
    */
  private def allowed(request: FlareRequest, limits: NamespaceLimits): Either[ApiError, Unit] =
    for
      _ <- Either.cond(
        defaults.backends.contains(request.backend),
        (),
        NoSuchChoice("backend", defaults.backends)
      )
      _ <- Either.cond(
        request.memory <= limits.memory,
        (),
        Refused(Refusal.OverLimit("memory", request.memory, limits.memory))
      )
    yield ()

  private def inputs(
      size: Option[Int],
      params: Option[JsonText],
      limits: NamespaceLimits
  ): Either[ApiError, (Int, Inputs)] =
    params match
      case Some(text) if JsonPieces.first(text) == '[' =>
        pieces.elements(text.bytes, limits.burstSize) match
          case Right(each) if each.nonEmpty && size.forall(_ == each.size) =>
            Right(each.size -> Inputs.Each(each))
          case Right(each) if each.nonEmpty => Left(SizeMismatch(size.getOrElse(0), each.size))
          case _ => Left(WrongType("params", s"an array of 1 to ${limits.burstSize} inputs"))
      case shared => size.map(_ -> Inputs.Shared(shared.getOrElse(JsonText.EmptyObject))).toRight(NoBurstSize)

  /** The definition's parameters under every input that is an object; the input's own fields win. */
  private def withParameters(
      inputs: Inputs,
      parameters: Defaults,
      room: Room
  ): Either[ApiError, Inputs] =
    var left = inputsLimit
    var fits = true
    def filled(value: JsonText) =
      // What is refused in the end need not be made.
      val whole = if left < 0 || !fits then value else pieces.over(parameters, value)
      left -= whole.length
      if (whole ne value) && left >= 0 then fits = room(whole.length)
      whole
    val all = inputs match
      case Inputs.Shared(value) => Inputs.Shared(filled(value))
      case Inputs.Each(values) => Inputs.Each(values.map(filled))
      case kept: Inputs.Kept => kept
    if fits then bounded(all) else Left(Busy)

  private def bounded(inputs: Inputs): Either[ApiError, Inputs] =
    Either.cond(inputs.length <= inputsLimit, inputs, InputsTooLarge(inputsLimit))

  private def complete(
      definition: Definition,
      size: Int,
      inputs: Inputs,
      own: FlareOptions,
      limits: NamespaceLimits
  ): FlareRequest =
    val chosen = own.orElse(definition.options)
    FlareRequest(
      definition.ref,
      size,
      inputs,
      chosen.granularity,
      chosen.packing.getOrElse(defaults.packing),
      chosen.backend.getOrElse(defaults.backend),
      chosen.chunkSize,
      chosen.timeout.getOrElse(defaults.timeout),
      chosen.memory.getOrElse(defaults.memory.min(limits.memory)),
      chosen.retries.getOrElse(defaults.retries),
      egress = limits.egress
    )

object FlareBody:
  private def defaults(parameters: JsonObject): Defaults =
    Defaults(parameters.toVector.map((name, value) => name -> JsonText.of(value)))
