package burst.controller.http

import burst.controller.definition.{Definition, FlareOptions}
import burst.controller.flare.{Flare, FlareRequest}
import burst.controller.scheduler.Refusal
import burst.controller.store.NamespaceLimits
import burst.protocol.{GroupRole, Inputs}
import io.circe.{Json, JsonObject}

/** Turns the body of a request for a flare or a group into a complete, checked request. Pure. */
final class FlareBody(options: OptionsReader, defaults: FlareDefaults):
  import ApiError.*

  def read(body: Json, definition: Definition, limits: NamespaceLimits): Either[ApiError, FlareRequest] =
    for
      fields <- Fields.of(body)
      _ <- fields.only("params" +: "size" +: OptionsReader.Names*)
      own <- options.read(fields, limits)
      size <- fields.int("size", 1, limits.burstSize)
      sized <- inputs(size, fields.json("params"), limits)
      (workers, inputs) = sized
      filled = withParameters(inputs, definition.parameters)
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
      shared = Inputs.Shared(Json.fromJsonObject(definition.parameters))
      request = complete(definition, size, shared, own, limits)
      _ <- allowed(request, limits)
    yield request.copy(retries = 0, group = Some(GroupRole.Holder(idle.getOrElse(defaults.groupIdleTimeout))))

  /** A flare on a group, whose own inputs stand under the flare's. */
  def readMember(body: Json, group: Flare, below: JsonObject, limits: NamespaceLimits)
      : Either[ApiError, FlareRequest] =
    for
      fields <- Fields.of(body)
      _ <- fields.only("params", "timeout")
      own <- options.read(fields, limits)
      sized <- inputs(Some(group.request.size), fields.json("params"), limits)
    yield group.request.copy(
      inputs = withParameters(sized._2, below),
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
      params: Option[Json],
      limits: NamespaceLimits
  ): Either[ApiError, (Int, Inputs)] =
    (size, params, params.flatMap(_.asArray)) match
      case (_, _, Some(each)) if each.isEmpty || each.size > limits.burstSize =>
        Left(WrongType("params", s"an array of 1 to ${limits.burstSize} inputs"))
      case (Some(n), _, Some(each)) if n != each.size => Left(SizeMismatch(n, each.size))
      case (_, _, Some(each)) => Right(each.size -> Inputs.Each(each))
      case (Some(n), shared, None) => Right(n -> Inputs.Shared(shared.getOrElse(Json.obj())))
      case (None, _, None) => Left(NoBurstSize)

  /** The definition's parameters under every input that is an object; the input's own fields win. */
  private def withParameters(inputs: Inputs, parameters: JsonObject): Inputs =
    def merged(input: Json) = input.asObject.fold(input): own =>
      Json.fromJsonObject(own.toIterable.foldLeft(parameters) { case (all, (key, value)) =>
        all.add(key, value)
      })
    if parameters.isEmpty then inputs
    else
      inputs match
        case Inputs.Shared(value) => Inputs.Shared(merged(value))
        case Inputs.Each(values) => Inputs.Each(values.map(merged))

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
      chosen.retries.getOrElse(defaults.retries)
    )
