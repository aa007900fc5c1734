package burst.controller.http

import burst.controller.action.{Action, ActionRuns, FlareInvocation}
import burst.controller.store.Identity
import burst.protocol.JsonText
import burst.controller.json.{Defaults, JsonPieces}
import burst.controller.http.BodyIntake.{Growing, Room}
import burst.controller.definition.{Definition, FlareOptions, FlareTerms, KindFamily}
import burst.controller.flare.{Flare, FlareRequest}
import burst.controller.scheduler.Refusal
import burst.controller.limits.NamespaceLimits
import burst.protocol.{GroupRole, Inputs}
import io.circe.Json

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
      limits: NamespaceLimits
  ): Either[ApiError, Growing[FlareRequest]] =
    val fields = Fields.of(body.fields)
    for
      _ <- runs(definition)
      _ <- fields.only("params" +: "size" +: "version" +: FlareOptions.Names*)
      own <- options.read(fields, limits)
      size <- fields.int("size", 1, limits.burstSize)
      sized <- inputs(size, body.large, limits)
      (workers, inputs) = sized
      request = complete(definition, workers, inputs, own, limits)
      _ <- allowed(request, limits)
    yield growing(request, Defaults.of(definition.all.ofInputs))

  /** Reads a burst of an action, which runs in the caller's name and may belong to another namespace.
    *
    * @param values
    *   an array of inputs
    */
  def readBurst(
      caller: Identity,
      action: Action,
      values: Option[JsonText],
      options: Fields,
      transaction: String
  ): Either[ApiError, Growing[FlareRequest]] =
    val limits = caller.limits
    for
      _ <- runs(action.definition)
      _ <- Either.cond(
        values.exists(JsonPieces.first(_) == '['),
        (),
        WrongType("value", s"an array of 1 to ${limits.burstSize} inputs")
      )
      own <- this.options.read(options, limits)
      sized <- inputs(None, values, limits)
      (workers, inputs) = sized
      _ <- ActionRuns.overridden(action, each(inputs), pieces).map(FinalParameter(_)).toLeft(())
      plain = complete(action.definition, workers, inputs, own, limits)
      fields = FlareInvocation.fields(caller, action, transaction).copy(burst = true)
      // Each of its records describes a container that was started once.
      terms = plain.terms.copy(retries = 0)
      request = FlareInvocation.request(caller, action, workers, inputs, terms, fields)
      _ <- allowed(request, limits)
    yield growing(request, action.defaults)

  /** Reads a group of a definition: how many workers, on what terms, and how long it may be idle. */
  def readGroup(
      fields: Fields,
      definition: Definition,
      limits: NamespaceLimits
  ): Either[ApiError, FlareRequest] =
    for
      _ <- runs(definition)
      _ <- fields.only(FlareBody.GroupNames*)
      own <- options.read(fields, limits)
      size <- fields.int("size", 1, limits.burstSize).flatMap(_.toRight(MissingField("size")))
      idle <- options.idleTimeout(fields)
      shared = Inputs.Shared(JsonText.of(Json.fromJsonObject(definition.all.ofInputs)))
      request = complete(definition, size, shared, own, limits)
      _ <- allowed(request, limits)
    yield request.copy(
      terms = request.terms.copy(retries = 0),
      group = Some(GroupRole.Holder(idle.getOrElse(defaults.groupIdleTimeout)))
    )

  /** Reads a flare on a group; the group's own inputs are defaults for the flare's. */
  def readMember(
      body: SplitBody,
      group: Flare,
      below: Defaults,
      limits: NamespaceLimits
  ): Either[ApiError, Growing[FlareRequest]] =
    val fields = Fields.of(body.fields)
    for
      _ <- fields.only("params", "timeout")
      own <- options.read(fields, limits)
      sized <- inputs(Some(group.request.size), body.large, limits)
      request = group.request.copy(
        inputs = sized._2,
        terms = group.request.terms.copy(timeout = own.timeout.getOrElse(group.request.timeout)),
        group = Some(GroupRole.Member(group.id))
      )
    yield growing(request, below)

  /** Refuses a sequence, which has nothing that a pack could run. */
  private def runs(definition: Definition): Either[ApiError, Unit] =
    Either.cond(definition.kind != KindFamily.Sequence.name, (), NoProgram(definition.name))

  /** Checks that what a definition asks for is still allowed: the operator may have removed backends or
    * lowered limits.
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

  private def each(inputs: Inputs): Iterator[JsonText] = inputs match
    case Inputs.Each(values) => values.iterator
    case Inputs.Shared(value) => Iterator(value)
    case _: Inputs.OutOfLine => Iterator.empty // it was read before

  /** Puts the definition's parameters under every input that is an object; the input's own fields win. */
  private def growing(request: FlareRequest, parameters: Defaults): Growing[FlareRequest] =
    val count = request.inputs match
      case Inputs.Each(values) => values.length
      case _ => 1
    Growing(
      count.toLong * parameters.length,
      room => withParameters(request.inputs, parameters, room).map(all => request.copy(inputs = all))
    )

  /** Fills in the parameters; builds nothing if it refuses. */
  private def withParameters(
      inputs: Inputs,
      parameters: Defaults,
      room: Room
  ): Either[ApiError, Inputs] =
    inputs match
      case Inputs.Shared(value) =>
        filled(Vector(value), parameters, room).map(all => Inputs.Shared(all.head))
      case Inputs.Each(values) => filled(values, parameters, room).map(Inputs.Each(_))
      case kept: Inputs.OutOfLine => Right(kept)

  private def filled(
      values: Vector[JsonText],
      parameters: Defaults,
      room: Room
  ): Either[ApiError, Vector[JsonText]] =
    val all = values.map(pieces.over(parameters, _))
    if all.iterator.map(_.length.toLong).sum > inputsLimit then Left(InputsTooLarge(inputsLimit))
    else if !room(all.iterator.filter(_.isNew).map(_.length.toLong).sum) then Left(Busy)
    else Right(all.map(_.text))

  private def complete(
      definition: Definition,
      size: Int,
      inputs: Inputs,
      own: FlareOptions,
      limits: NamespaceLimits
  ): FlareRequest =
    FlareRequest(
      definition.ref,
      size,
      inputs,
      FlareTerms.of(
        own.orElse(definition.options),
        defaults.terms.copy(memory = defaults.terms.memory.min(limits.memory))
      ),
      egress = limits.egress,
      environment = definition.environment.started(definition.all.ofStart)
    )

object FlareBody:
  private val GroupNames: Seq[String] =
    Seq(
      "definition",
      "version",
      "size",
      "idleTimeout"
    ) ++ FlareOptions.Names.filter(_ != FlareOptions.Retries)
