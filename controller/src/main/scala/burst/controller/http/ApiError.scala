package burst.controller.http

import burst.controller.definition.{Definition, EntityName, VariableName}
import burst.controller.deploy.{ElfPart, PackageProblem, TarDamage, ZipDamage}
import burst.controller.gateway.GatewayProblem
import burst.controller.limits.MinuteUsed
import burst.controller.scheduler.Refusal
import burst.controller.store.{DeployRefusal, StoreProblem}
import burst.controller.web.WebProblem
import burst.protocol.FlareId
import io.circe.Json
import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.http.scaladsl.model.StatusCodes.*
import org.apache.pekko.http.scaladsl.model.headers.*
import scala.concurrent.duration.FiniteDuration

/** Every way a request can be refused, as data. [[ApiError.response]] is the one place where it becomes a
  * status and a sentence; the sentence says what to change and repeats no input but names.
  */
enum ApiError:
  case MalformedRequest(problem: String)
  case MalformedJson
  case JsonRefused(problem: JsonProblem)
  case FieldsTooLarge(beside: String, limit: Long)
  case VariablesTooLarge(limit: Long)
  case InputsTooLarge(limit: Long)
  case UnknownField(path: String, allowed: Seq[String])
  case MissingField(path: String)
  case WrongType(path: String, expected: String)
  case OutOfRange(path: String, least: Long, most: Long, measure: Measure)
  case NoSuchChoice(path: String, allowed: Seq[String])
  case NoBurstSize
  case SizeMismatch(size: Int, params: Int)
  case InvalidName
  case InvalidVersion
  case InvalidFlareId
  case InvalidGroupId
  case InvalidParameter(name: String, expected: String)
  case UnknownParameter(name: String, allowed: Seq[String])
  case InvalidVariable(path: String)
  case VariableTwice(name: String)
  case NoSecretsKey
  case PackageRefused(problem: PackageProblem)
  case Unauthorized
  case NotAdmin
  case AdminOff
  case OtherNamespace
  case NoSuchPath
  case NoSuchDefinition(name: String)
  case NoSuchVersion(name: String, version: String)

  /** The definition is a sequence, which has no workers of its own. */
  case NoWorkers(name: String)
  case NoSuchFlare(id: FlareId)
  case NoSuchGroup(id: FlareId)
  case NoSuchInvoker(id: String)
  case NoSuchNamespace(name: String)
  case FinalParameter(name: String)
  case InvalidActivationId
  case NoSuchActivation(id: FlareId)
  case CountOfDocuments
  case NoProgram(name: String)
  case MethodNotAllowed(allowed: Seq[HttpMethod])
  case BodyTooSlow
  case NotDeployed(name: String, refusal: DeployRefusal)
  case NamespaceExists(name: String)
  case FlareEnded(id: FlareId)
  case GroupEnded(id: FlareId)
  case BodyTooLarge(limit: Long)
  case PackageTooLarge(size: Long, limit: Long)
  case NotJson
  case EncodedBody
  case InvalidIdempotencyKey

  /** The key was already used for a different request. */
  case IdempotencyKeyUsed
  case RateLimited(perMinute: Int, retryAfter: FiniteDuration)
  case InvocationsLimited(used: MinuteUsed)
  case DeploysLimited(perMinute: Int, retryAfter: FiniteDuration)
  case RequestsLimited(perMinute: Int, retryAfter: FiniteDuration)
  case TooManyAtOnce(limit: Int)
  case LoginsLimited(retryAfter: FiniteDuration)
  case MissesLimited(retryAfter: FiniteDuration)
  case Refused(refusal: Refusal)
  case Web(problem: WebProblem)
  case Gateway(problem: GatewayProblem)
  case NoSuchRoute
  case OfEntity(problem: EntityProblem)
  case OfTrigger(problem: TriggerProblem)
  case TimedOut
  case Busy

  /** The database or the blob store failed, or was full. */
  case StoreFailed(problem: StoreProblem)

  /** The scheduler did not answer; it may be moving to another controller. */
  case SchedulerSilent
  case Internal

object ApiError:
  /** Returns status and sentence, for callers that report a refusal by other means than a response. */
  def told(error: ApiError): (StatusCode, String) = describe(error)

  def response(error: ApiError, id: String): HttpResponse =
    val (status, sentence) = describe(error)
    response(status, sentence, id).withHeaders(headers(error))

  def response(status: StatusCode, sentence: String, id: String): HttpResponse =
    val body = Json.obj("error" -> Json.fromString(sentence), "code" -> Json.fromString(id))
    HttpResponse(status, entity = JsonMarshalling.entity(body))

  private def headers(error: ApiError): Seq[HttpHeader] = error match
    case Unauthorized | NotAdmin | Refused(Refusal.NamespaceRevoked) | Web(WebProblem.NeedsCredentials) =>
      Seq(`WWW-Authenticate`(HttpChallenges.basic("OpenWhisk secure realm")))
    case RateLimited(_, pause) => Seq(`Retry-After`(wholeSeconds(pause)))
    case InvocationsLimited(used) => Seq(`Retry-After`(wholeSeconds(used.retryAfter)))
    case DeploysLimited(_, pause) => Seq(`Retry-After`(wholeSeconds(pause)))
    case RequestsLimited(_, pause) => Seq(`Retry-After`(wholeSeconds(pause)))
    case LoginsLimited(pause) => Seq(`Retry-After`(wholeSeconds(pause)))
    case OfTrigger(TriggerProblem.FiresLimited(used)) => Seq(`Retry-After`(wholeSeconds(used.retryAfter)))
    case MissesLimited(pause) => Seq(`Retry-After`(wholeSeconds(pause)))
    case Refused(
          Refusal.QueueFull(_) | Refusal.NoInvokers | Refusal.PackageGone | Refusal.AlreadySubmitted
        ) | Busy | TooManyAtOnce(_) | TimedOut =>
      Seq(`Retry-After`(1))
    case StoreFailed(_) | SchedulerSilent => Seq(`Retry-After`(5))
    case MethodNotAllowed(allowed) => Seq(Allow(allowed))
    case _ => Seq.empty

  /** Rounds the pause up: a client that comes back too early is refused again. */
  private def wholeSeconds(pause: FiniteDuration): Long = (pause.toMillis + 999) / 1000

  private def describe(error: ApiError): (StatusCode, String) = error match
    case MalformedRequest(problem) => BadRequest -> problem
    case MalformedJson => BadRequest -> "The body is not valid JSON."
    case JsonRefused(problem) => BadRequest -> describe(problem)
    case FieldsTooLarge(beside, limit) =>
      ContentTooLarge -> s"The fields beside '$beside' have more than $limit bytes together; make them smaller."
    case VariablesTooLarge(limit) =>
      ContentTooLarge -> s"""The fields 'environment' and 'secrets' have more than $limit bytes together; a program may
        | have ${Definition.MostVariableBytes} bytes of variables.""".stripMargin.replace("\n", "")
    case InputsTooLarge(limit) =>
      ContentTooLarge -> s"""The inputs have more than $limit bytes together, with the definition's parameters under
        | each; send smaller ones, or fewer.""".stripMargin.replace("\n", "")
    case UnknownField(path, allowed) =>
      BadRequest -> s"There is no field '$path'; remove it or use one of: ${allowed.mkString(", ")}."
    case MissingField(path) => BadRequest -> s"The field '$path' is missing; add it."
    case WrongType("", expected) => BadRequest -> s"The body must be $expected."
    case WrongType(path, expected) => BadRequest -> s"The field '$path' must be $expected."
    case OutOfRange(path, least, most, measure) =>
      BadRequest -> s"The field '$path' must be a whole number from $least to $most${measure.explained(most)}."
    case NoSuchChoice(path, allowed) =>
      BadRequest -> s"The field '$path' must be one of: ${allowed.mkString(", ")}."
    case NoBurstSize =>
      BadRequest -> "Say how many workers: give 'params' as an array with one input for each, or 'size'."
    case SizeMismatch(size, params) =>
      BadRequest -> s"'size' is $size but 'params' holds $params inputs; make them agree or leave 'size' out."
    case InvalidName =>
      BadRequest -> s"""A name has at most ${EntityName.MaxLength} letters, digits, '_', '@', '.', '&', '-' and
        | inner spaces, and begins with a letter, digit or '_'.""".stripMargin.replace("\n", "")
    case InvalidVersion => BadRequest -> "A version is 0.0 and the number of the deploy, such as 0.0.3."
    case InvalidFlareId => BadRequest -> "A flare id has 32 lower-case hexadecimal digits."
    case InvalidGroupId => BadRequest -> "A group id has 32 lower-case hexadecimal digits."
    case InvalidParameter(name, expected) =>
      BadRequest -> s"The query parameter '$name' must be $expected."
    case UnknownParameter(name, Seq()) =>
      BadRequest -> s"There is no query parameter '$name' here; remove it."
    case UnknownParameter(name, allowed) =>
      BadRequest -> s"There is no query parameter '$name' here; remove it or use one of: ${allowed.mkString(", ")}."
    case InvalidVariable(path) =>
      BadRequest -> s"""The field '$path' is no name for a variable; use up to ${VariableName.MaxLength} letters, digits and '_', no digit first, and
        | neither ${VariableName.Reserved} nor what begins with
        | ${VariableName.ReservedPrefixes.mkString(", ")}.""".stripMargin.replace("\n", "")
    case VariableTwice(name) =>
      BadRequest -> s"The variable '$name' stands in 'environment' and in 'secrets'; give it in one of them."
    case NoSecretsKey =>
      ServiceUnavailable -> "This controller has no key for secrets; its operator finds in its log what to do."
    case PackageRefused(problem) => BadRequest -> describe(problem)
    case Unauthorized =>
      HttpCodes.Unauthorized -> "The credentials are missing or wrong; send 'uuid:key' by Basic authentication."
    case NotAdmin =>
      HttpCodes.Unauthorized -> "The administrator's credentials are missing or wrong; send 'admin:key' by Basic authentication."
    case AdminOff => Forbidden -> "Nobody may administer this platform; configure burst.http.admin-key."
    case OtherNamespace =>
      Forbidden -> "These credentials open another namespace; use '_' for the one they open."
    case NoSuchPath => NotFound -> "There is no such path; see /api/v1/openapi.yaml."
    case NoSuchDefinition(name) => NotFound -> s"There is no definition '$name'; deploy it first."
    case NoWorkers(name) =>
      BadRequest -> s"'$name' is a sequence, which no workers run; invoke it, or flare one of its actions."
    case NoSuchVersion(name, version) =>
      NotFound -> s"There is no version $version of '$name', or it is no longer kept; choose one of its versions."
    case NoSuchFlare(id) => NotFound -> s"There is no flare '${id.value}' in this namespace."
    case NoSuchGroup(id) => NotFound -> s"There is no group '${id.value}' in this namespace."
    case NoSuchInvoker(id) =>
      NotFound -> s"No machine called '${Fields.shortened(id)}' has registered; `burst invokers` lists those that have."
    case FinalParameter(name) =>
      BadRequest -> s"The parameter '${Fields.shortened(name)}' is final and cannot be changed; leave it out."
    case InvalidActivationId => BadRequest -> "An activation id has 32 lower-case hexadecimal digits."
    case NoSuchActivation(id) =>
      NotFound -> s"There is no activation '${id.value}' in this namespace, or it has not ended yet."
    case NoProgram(name) =>
      BadRequest -> s"'$name' is a sequence and has no program of its own; invoke it as an action, without 'burst'."
    case CountOfDocuments => BadRequest -> "Ask either for 'docs' or for 'count'."
    case MethodNotAllowed(allowed) =>
      HttpCodes.MethodNotAllowed -> s"This path answers only to ${allowed.map(_.value).mkString(", ")}."
    case BodyTooSlow => RequestTimeout -> "The body did not arrive in time; send it again."
    case NotDeployed(name, refusal) => describe(name, refusal)
    case NoSuchNamespace(name) => NotFound -> s"There is no namespace '$name'; create it first."
    case NamespaceExists(name) =>
      Conflict -> s"There is a namespace '$name' already; send overwrite=true to replace its key and limits."
    case FlareEnded(id) => Conflict -> s"The flare '${id.value}' has ended already."
    case GroupEnded(id) => Conflict -> s"The group '${id.value}' has ended; open another one."
    case BodyTooLarge(limit) => ContentTooLarge -> s"The body must not be larger than $limit bytes."
    case PackageTooLarge(size, limit) =>
      ContentTooLarge -> s"The package has $size bytes, but this namespace allows $limit; make it smaller."
    case NotJson => UnsupportedMediaType -> "Send the body in UTF-8 with 'Content-Type: application/json'."
    case EncodedBody => UnsupportedMediaType -> "Send the body as it is, without 'Content-Encoding'."
    case InvalidIdempotencyKey =>
      BadRequest -> s"Send one '${IdempotencyKey.Header}' of 1 to ${IdempotencyKey.MaxLength} printable ASCII characters, or none."
    case IdempotencyKeyUsed =>
      UnprocessableContent -> s"This '${IdempotencyKey.Header}' was sent with another request before; send this one with a key of its own."
    case RateLimited(perMinute, pause) =>
      TooManyRequests -> s"This namespace may start $perMinute flares a minute; wait ${wholeSeconds(pause)} s."
    case InvocationsLimited(used) => TooManyRequests -> tooMany("invocations", used)
    case DeploysLimited(perMinute, pause) =>
      TooManyRequests -> s"This namespace may deploy $perMinute times a minute; wait ${wholeSeconds(pause)} s."
    case RequestsLimited(perMinute, pause) =>
      TooManyRequests -> s"This namespace may make $perMinute requests a minute; wait ${wholeSeconds(pause)} s."
    case TooManyAtOnce(limit) =>
      TooManyRequests -> s"This namespace has $limit requests under way already; wait for one of them."
    case LoginsLimited(pause) =>
      TooManyRequests -> s"Too many wrong credentials came from this address; wait ${wholeSeconds(pause)} s."
    case MissesLimited(pause) =>
      TooManyRequests -> s"This address asked too often for what is not there; wait ${wholeSeconds(pause)} s."
    case Refused(refusal) => describe(refusal)
    case Web(problem) => WebErrors.describe(problem)
    case Gateway(problem) => GatewayErrors.describe(problem)
    case NoSuchRoute => NotFound -> "There is no such API, or no such path in it."
    case OfEntity(problem) => EntityProblem.describe(problem)
    case OfTrigger(problem) => TriggerProblem.describe(problem)
    case Busy =>
      ServiceUnavailable -> "The platform is taking in as much as it can hold; send it again soon."
    case StoreFailed(problem) if problem.isOfRoom =>
      ServiceUnavailable -> s"Nothing can be stored, as ${problem.reason}; send the request again once there is room."
    case StoreFailed(_) =>
      ServiceUnavailable -> "The platform's store failed, or has no room left; send the request again soon."
    case SchedulerSilent =>
      ServiceUnavailable -> "The platform's scheduler does not answer at present; send the request again soon."
    case TimedOut => ServiceUnavailable -> "The request took too long and was given up; send it again."
    case Internal =>
      InternalServerError -> "The platform failed; its operator finds the reason by this answer's code."

  /** Words the refusal as OpenWhisk does. */
  private[http] def tooMany(what: String, used: MinuteUsed): String =
    s"""Too many $what by this namespace in this minute (count: ${used.count}, allowed: ${used.allowed}); wait
       | ${wholeSeconds(used.retryAfter)} s.""".stripMargin.replace("\n", "")

  private def describe(refusal: Refusal): (StatusCode, String) = refusal match
    case Refusal.TooLarge(size, slots) =>
      BadRequest -> s"The flare asks for $size workers, but the whole cluster has $slots slots; ask for at most $slots."
    case Refusal.UnitTooLarge(unit, largest) =>
      BadRequest -> s"A granularity of $unit needs a machine with $unit slots, but the largest has $largest; ask for at most $largest."
    case Refusal.UnitsTooLarge(size, unit, usable, slots) =>
      BadRequest -> s"With a granularity of $unit only $usable of the cluster's $slots slots can be used, but the flare asks for $size workers; ask for a smaller granularity or fewer workers."
    case Refusal.NamespaceRevoked =>
      HttpCodes.Unauthorized -> "This namespace was revoked; ask the administrator."
    case Refusal.OverLimit(limit, asked, allowed) =>
      BadRequest -> s"The flare asks for $asked, but this namespace's limit for $limit is $allowed."
    case Refusal.NoInvokers =>
      ServiceUnavailable -> "No invoker takes flares: none has joined the cluster, or all are drained; try again soon."
    case Refusal.QueueFull(limit) =>
      TooManyRequests -> s"$limit flares are waiting already; try again when some have ended."
    case Refusal.GroupEnded(group) => describe(GroupEnded(group))
    case Refusal.AlreadySubmitted =>
      Conflict -> s"A request with the same '${IdempotencyKey.Header}' is just being stored; send it again soon."
    case Refusal.PackageGone =>
      ServiceUnavailable -> "The definition is being replaced again and again; send the request again soon."

  private def describe(name: String, refusal: DeployRefusal): (StatusCode, String) = refusal match
    case DeployRefusal.Exists =>
      Conflict -> s"There is a definition '$name' already (resource already exists); update it (`overwrite=true`) to replace it."
    case DeployRefusal.NameTaken(by) =>
      Conflict -> s"'$name' is the name of ${by.one} already; choose another name."
    case DeployRefusal.NoSuchPackage(inPackage) =>
      NotFound -> s"There is no package '$inPackage'; create it first."
    case DeployRefusal.InBinding(inPackage) =>
      BadRequest -> s"'$inPackage' is bound to another package; name the action in that one."
    case DeployRefusal.NoProgram => BadRequest -> "There is no such action yet; send its 'exec'."
    case DeployRefusal.NotConcurrent(kind) =>
      BadRequest -> s"A container of the kind '$kind' runs one call at a time; set 'limits.concurrency' to 1."
    case DeployRefusal.Missing => describe(NoSuchDefinition(name))
    case DeployRefusal.NoSuchVersion(version) => describe(NoSuchVersion(name, version))
    case DeployRefusal.NoVersionBefore =>
      Conflict -> s"There is no version of '$name' before the current one, or it is no longer kept."
    case DeployRefusal.TooManyVariables(count) =>
      BadRequest -> s"The program would have $count environment variables, but at most ${Definition.MostVariables} are allowed; remove some."
    case DeployRefusal.VariablesTooLarge(bytes) =>
      ContentTooLarge -> s"""The program's environment variables would have $bytes bytes, but at most
        | ${Definition.MostVariableBytes} are allowed; make them smaller.""".stripMargin.replace("\n", "")
    case DeployRefusal.OtherKey(sealedBy, noted) =>
      ServiceUnavailable -> s"""This controller's key for secrets ($sealedBy) is not the platform's any more ($noted);
        | its operator has to give it that one and start it again.""".stripMargin.replace("\n", "")
    case DeployRefusal.TooMany(allowed) =>
      ContentTooLarge -> s"This namespace may have at most $allowed definitions, and has as many; remove one."
    case DeployRefusal.TooLarge(bytes, allowed) =>
      ContentTooLarge -> s"""With it the packages, parameters and variables of this namespace's definitions would have
        | $bytes bytes, but it may have $allowed; remove a definition it needs no more.""".stripMargin.replace(
        "\n",
        ""
      )

  private def describe(problem: JsonProblem): String = problem match
    case JsonProblem.TooDeep(limit) => s"The body's JSON is nested deeper than $limit levels; flatten it."
    case JsonProblem.TooManyValues(limit) =>
      s"The body's JSON holds more than $limit values; put them where the workers can read them."
    case JsonProblem.LongNumber(limit) =>
      s"The body holds a number of more than $limit characters; send it as a string."
    case JsonProblem.NotUtf8 => "The body is not valid UTF-8; send it in that encoding."
    case JsonProblem.ByteOrderMark => "The body begins with a byte order mark; send it without."
    case JsonProblem.HalfSurrogate =>
      "The body holds half of a surrogate pair, which is no character; correct that string."
    case JsonProblem.TooManyNames(limit) =>
      s"The body holds an object of more than $limit fields, with those around it; put it where the workers can read it."
    case JsonProblem.LongName(limit) =>
      s"The body holds a field whose name has more than $limit bytes; make it shorter."
    case JsonProblem.RepeatedField => "The body names a field twice in one object; name it once."

  private def describe(problem: PackageProblem): String = problem match
    case PackageProblem.Empty => "The package is empty."
    case PackageProblem.NotAPackage =>
      "The package is neither a zip nor a Linux executable; send a zip with an executable 'exec', or the executable."
    case PackageProblem.CorruptZip(damage) =>
      s"The package is a damaged zip: ${describe(damage)}; build it again."
    case PackageProblem.CorruptTar(damage) =>
      s"The package is a damaged tar.gz: ${describe(damage)}; pack it again."
    case PackageProblem.NoExec =>
      "The package has no file 'exec' at its top; add the executable by that name."
    case PackageProblem.NoEntry(wanted) =>
      s"The package has no file ${wanted.map(name => s"'$name'").mkString(" or ")} at its top; add one of them."
    case PackageProblem.NotAProgram =>
      "The code is base64 of what is neither a zip nor a Linux executable; send a zip, for Node also a tar.gz, or the text of the source."
    case PackageProblem.UnsafePath(_) =>
      "The package holds a path that is absolute, leads out of it or is malformed; use plain relative paths."
    case PackageProblem.NotAFile(_) =>
      "The package holds a link or device; pack regular files and directories only."
    case PackageProblem.TooManyEntries(allowed) =>
      s"The package holds more than $allowed files and directories; pack fewer, or put them where the workers can read them."
    case PackageProblem.UnpacksTooLarge(bytes, allowed) =>
      s"The package unpacks to $bytes bytes, but at most $allowed are allowed."
    case PackageProblem.RepacksTooLarge(allowed) =>
      s"The package is kept as a zip, which would have more than the $allowed bytes that this namespace allows; make it smaller."
    case PackageProblem.ExecutableTooLarge(bytes, allowed) =>
      s"The package's 'exec' has $bytes bytes, but this platform can look at $allowed; make it smaller."
    case PackageProblem.NotAnExecutable =>
      "The package's 'exec' is not a Linux executable (ELF); build the program for Linux."
    case PackageProblem.CorruptExecutable(part) =>
      s"The package's executable is damaged: its ${describe(part)} cannot be read; build it again."
    case PackageProblem.WrongArchitecture(found, runtime) =>
      s"The package is built for $found, but the runtime is $runtime; build it for the target $runtime-unknown-linux-musl."
    case PackageProblem.NewerLibc(needed, runtime) =>
      s"""The package needs C library $needed, but the runtime has $runtime;
         | build it on an older system, or link it statically, as a musl target does.""".stripMargin.replace(
        "\n",
        ""
      )
    case PackageProblem.OtherLibc(loader) =>
      s"The package needs the loader of the C library $loader, which the runtime lacks; link it statically."

  private def describe(damage: ZipDamage): String = damage match
    case ZipDamage.NoDirectory => "its directory is missing; it may be cut off"
    case ZipDamage.DirectoryCutOff => "its directory is cut off"
    case ZipDamage.UnreadableDirectory => "its directory cannot be read"
    case ZipDamage.UncountedEntries => "its directory holds more than it counts"
    case ZipDamage.PathTwice => "a path occurs in it twice"
    case ZipDamage.DirectoryWithContent => "a directory in it has content"
    case ZipDamage.Encrypted(path) => s"'$path' in it is encrypted"
    case ZipDamage.OtherMethod(path) => s"'$path' in it is compressed by a method other than deflate"
    case ZipDamage.CannotUnpack(path) => s"'$path' in it cannot be unpacked"

  private def describe(damage: TarDamage): String = damage match
    case TarDamage.CutOff => "it is cut off"
    case TarDamage.CannotUnpack => "it cannot be unpacked"
    case TarDamage.DamagedHeader => "a header in it is damaged"
    case TarDamage.PathTwice => "a path occurs in it twice"
    case TarDamage.DirectoryWithContent => "a directory in it has content"
    case TarDamage.MostlyHeaders => "it is mostly headers and padding"
    case TarDamage.AfterItsEnd => "something follows its end"
    case TarDamage.LongHeader(allowed) => s"a header in it has more than $allowed bytes"

  private def describe(part: ElfPart): String = part match
    case ElfPart.Header => "header"
    case ElfPart.ProgramHeaders => "program headers"
    case ElfPart.Interpreter => "interpreter"
    case ElfPart.DynamicSegment => "dynamic segment"
    case ElfPart.LibraryVersions => "list of required library versions"

  /** Refers to statuses whose names are also those of errors. */
  private val HttpCodes = StatusCodes
