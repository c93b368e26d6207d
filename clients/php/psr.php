<?php
/** As much of PSR-7, PSR-17 and PSR-18 as the client uses, for its test: interfaces of those names, and one of each over PHP's streams. */

declare(strict_types=1);

namespace Psr\Http\Client {
    interface ClientExceptionInterface extends \Throwable
    {
    }

    interface ClientInterface
    {
        public function sendRequest(\Message $request): \Message;
    }
}

namespace Psr\Http\Message {
    interface RequestFactoryInterface
    {
        public function createRequest(string $method, string $uri): \Message;
    }

    interface StreamFactoryInterface
    {
        public function createStream(string $content = ''): \Stringable;
    }
}

namespace {
    /** A request or an answer. */
    final class Message
    {
        public function __construct(private readonly string $line, private readonly array $headers = [], private readonly string $body = '')
        {
        }

        public function line(): string
        {
            return $this->line;
        }

        public function withHeader(string $name, string $value): self
        {
            return new self($this->line, [$name => [$value]] + $this->headers, $this->body);
        }

        public function withBody(\Stringable $body): self
        {
            return new self($this->line, $this->headers, (string) $body);
        }

        public function getStatusCode(): int
        {
            return (int) explode(' ', $this->line)[1];
        }

        public function getHeaders(): array
        {
            return $this->headers;
        }

        public function getBody(): string
        {
            return $this->body;
        }
    }

    final class Factory implements Psr\Http\Message\RequestFactoryInterface, Psr\Http\Message\StreamFactoryInterface
    {
        public function createRequest(string $method, string $uri): Message
        {
            return new Message("$method $uri");
        }

        public function createStream(string $content = ''): \Stringable
        {
            return new class ($content) implements \Stringable {
                public function __construct(private readonly string $content)
                {
                }

                public function __toString(): string
                {
                    return $this->content;
                }
            };
        }
    }

    final class Unreachable extends \Exception implements Psr\Http\Client\ClientExceptionInterface
    {
    }

    final class Client implements Psr\Http\Client\ClientInterface
    {
        public int $requests = 0;

        public function sendRequest(Message $request): Message
        {
            $this->requests++;
            [$method, $uri] = explode(' ', $request->line());
            $head = ['Connection: close'];
            foreach ($request->getHeaders() as $name => $values) {
                $head[] = "$name: " . implode(', ', $values);
            }
            $http = ['method' => $method, 'header' => $head, 'content' => $request->getBody(), 'ignore_errors' => true, 'follow_location' => 0];
            $text = @file_get_contents($uri, false, stream_context_create(['http' => $http]));
            if ($text === false || !isset($http_response_header)) {
                throw new Unreachable("nobody at $uri");
            }
            $headers = [];
            foreach (array_slice($http_response_header, 1) as $line) {
                [$name, $value] = explode(': ', $line, 2);
                $headers[$name][] = $value;
            }
            return new Message($http_response_header[0], $headers, $text);
        }
    }
}
